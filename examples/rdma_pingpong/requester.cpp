#include "requester.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace rdma_pingpong {
namespace {

// A clock reading must not take more than a 20th of what it measures.
constexpr std::uint64_t kReadings = 20;
constexpr std::uint64_t kMaxGroup = 1024;
// Operations below this size can be so short that a few are tried to choose the group, even without a warm-up.
constexpr std::uint64_t kSmall = 8192;
constexpr std::uint64_t kTries = 8;

std::uint64_t picoseconds(ferry::Duration duration) noexcept {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(duration.count(), 0)) * 1000;
}

std::optional<double> nanoseconds(const std::optional<std::uint64_t>& picoseconds) noexcept {
  return picoseconds ? std::optional(static_cast<double>(*picoseconds) / 1000) : std::nullopt;
}
double nanoseconds(std::uint64_t picoseconds) noexcept {
  return static_cast<double>(picoseconds) / 1000;
}

// The sum of 0, 1, …, count - 1 modulo 2^64.
std::uint64_t sum_below(std::uint64_t count) noexcept {
  return count % 2 == 0 ? count / 2 * (count - 1) : (count - 1) / 2 * count;
}

}  // namespace

double Measurement::operations_per_second() const noexcept {
  return seconds > 0 ? static_cast<double>(workload.iterations) / seconds : 0;
}

double Measurement::bytes_per_second() const noexcept {
  return operations_per_second() * static_cast<double>(workload.bytes_moved());
}

Requester::Requester(ferry::NodeCore& node, ferry::ActorRef<Responder> responder, const Workload& workload)
    : clock_(node.executor()), responder_(responder), workload_(workload), clock_cost_(clock_cost()) {}

ferry::Task<Measurement> Requester::measure() {
  auto preparing = prepare();
  co_await preparing;

  const std::uint64_t tries = workload_.bytes_moved() <= kSmall ? kTries : 0;
  auto warming_up = run_all(std::max(workload_.warmup, tries), false);
  co_await warming_up;
  group_ = choose_group();
  histogram_.clear();
  busy_ = {};
  elapsed_ = {};

  auto measuring = run_all(workload_.iterations, workload_.verify);
  co_await measuring;
  if (workload_.verify) {
    auto verifying = verify_end();
    co_await verifying;
  }

  Measurement result;
  result.transport = responder_.address().peer->transport_name();
  result.workload = workload_;
  result.group = group_;
  result.clock = nanoseconds(clock_cost_);
  result.latency = {nanoseconds(histogram_.min()),      nanoseconds(histogram_.percentile(0.5)),
                    nanoseconds(histogram_.tail(0.99)), nanoseconds(histogram_.tail(0.999)),
                    nanoseconds(histogram_.max()),      histogram_.mean() / 1000};
  // Of one lane alone, what lies between its operations is no part of them.
  result.seconds = std::chrono::duration<double>(workload_.depth == 1 ? busy_ : elapsed_).count();
  result.verified = workload_.verify;
  co_return result;
}

// Memory at both ends.
ferry::Task<void> Requester::prepare() {
  const std::uint64_t slots = is_atomic(workload_.op) ? 1 : workload_.depth;
  const std::uint64_t bytes = workload_.op == Op::call ? 0 : workload_.size;
  remote_ = co_await responder_.call<&Responder::prepare>(slots, bytes);
  if (is_atomic(workload_.op)) {
    words_ = bytes / sizeof(std::uint64_t);
    array_ = remote_.subrange(Slots::offset(0, bytes), bytes);
    guesses_.assign(words_, 0);
  } else {
    local_ = Slots(slots, bytes);
  }
  lanes_.resize(workload_.depth);
  for (std::uint64_t index = 0; index < workload_.depth; ++index) {
    Lane& lane = lanes_[index];
    if (workload_.op == Op::call) {
      lane.payload.resize(workload_.size);
    } else if (!is_atomic(workload_.op)) {
      lane.local = local_.slot(index);
      lane.remote = remote_.subrange(Slots::offset(index, bytes), bytes);
    }
  }
}

ferry::Task<void> Requester::run_all(std::uint64_t operations, bool verify) {
  // Atomics need no rounds: their old values tell.
  const bool rounds = verify && !is_atomic(workload_.op);
  const std::uint64_t at_once = rounds ? workload_.depth * group_ : operations;
  for (std::uint64_t left = operations; left > 0;) {
    const std::uint64_t count = std::min(left, at_once);
    const std::uint64_t lanes = std::min(count, workload_.depth);
    if (rounds) {
      auto before = before_round(++seed_);
      co_await before;
    }
    auto running = round(count);
    co_await running;
    if (rounds) {
      auto after = after_round(seed_, lanes);
      co_await after;
    }
    left -= count;
  }
}

// Deals the operations out to the lanes, the first of them first, and runs these at once.
ferry::Task<void> Requester::round(std::uint64_t operations) {
  for (std::uint64_t index = 0; index < workload_.depth; ++index) {
    lanes_[index].left = operations / workload_.depth + (index < operations % workload_.depth ? 1 : 0);
  }
  std::vector<ferry::Running<void>> running;
  running.reserve(workload_.depth);
  const ferry::TimePoint begin = clock_.now();
  for (Lane& lane : lanes_) {
    running.push_back(ferry::start(run_lane(lane)));
  }
  for (ferry::Running<void>& lane : running) {
    co_await lane;
  }
  elapsed_ += clock_.now() - begin;
}

ferry::Task<void> Requester::run_lane(Lane& lane) {
  while (lane.left > 0) {
    const std::uint64_t count = std::min(lane.left, group_);
    auto group = operate(lane, count);
    const ferry::TimePoint begin = clock_.now();
    co_await group;
    const ferry::Duration took = clock_.now() - begin;
    histogram_.record(picoseconds(took), count);
    busy_ += took;
    lane.left -= count;
  }
}

ferry::Task<void> Requester::operate(Lane& lane, std::uint64_t count) {
  switch (workload_.op) {
    case Op::read:
      for (; count > 0; --count) {
        co_await lane.remote.read_into(lane.local);
      }
      break;
    case Op::write:
      for (; count > 0; --count) {
        co_await lane.remote.write_from(lane.local);
      }
      break;
    case Op::fetch_add:
      for (; count > 0; --count) {
        const std::uint64_t word = next_word();
        const std::uint64_t old = co_await array_.fetch_add(1, {.offset = word * sizeof(word)});
        olds_ += old;
      }
      break;
    case Op::compare_swap:
      for (; count > 0; --count) {
        const std::uint64_t word = next_word();
        const std::uint64_t guess = guesses_[word];
        const std::uint64_t old = co_await array_.compare_swap(guess, guess + 1, {.offset = word * sizeof(word)});
        swapped_ += old == guess ? 1 : 0;
        guesses_[word] = std::max(guesses_[word], old == guess ? guess + 1 : old);
      }
      break;
    case Op::call:
      for (; count > 0; --count) {
        auto reply = co_await responder_.call<&Responder::echo>(lane.payload);
        lane.reply = std::move(reply);
      }
      break;
  }
}

ferry::Task<void> Requester::before_round(std::uint64_t seed) {
  if (workload_.op == Op::read) {
    local_.fill(~seed);
    co_await responder_.call<&Responder::fill>(seed);
  } else if (workload_.op == Op::write) {
    local_.fill(seed);
  } else {
    for (std::uint64_t index = 0; index < workload_.depth; ++index) {
      fill_pattern(lanes_[index].payload, seed, index);
      lanes_[index].reply.clear();
    }
  }
}

ferry::Task<void> Requester::after_round(std::uint64_t seed, std::uint64_t lanes) {
  if (workload_.op == Op::call) {
    for (std::uint64_t index = 0; index < lanes; ++index) {
      const auto& reply = lanes_[index].reply;
      require(reply.size() == workload_.size
                  ? check_pattern(reply, seed, index)
                  : fmt::format("{} bytes came back in place of {}", reply.size(), workload_.size),
              "in a reply");
    }
    co_return;
  }
  require(local_.check(seed, lanes), "at this end");
  if (workload_.op == Op::write) {
    const std::string wrong = co_await responder_.call<&Responder::check>(seed, lanes);
    require(wrong, "at the owner");
  }
}

ferry::Task<void> Requester::verify_end() {
  const std::string wrong = co_await responder_.call<&Responder::check_guards>();
  require(wrong, "at the owner");
  if (!is_atomic(workload_.op)) {
    co_return;
  }
  // operations_ counts the warm-up too: the words began as zero.
  const Words words = co_await responder_.call<&Responder::words>();
  require(workload_.op == Op::fetch_add ? wrong_additions(words) : wrong_swaps(words), "at the owner");
}

// operations_ counts the warm-up too: the words began as zero.
std::string Requester::wrong_additions(const Words& words) const {
  if (words.sum != operations_ || words.most - words.least > 1) {
    return fmt::format("the words hold {} to {} and {} in all after {} additions of 1 to {} words in turn", words.least,
                       words.most, words.sum, operations_, words_);
  }
  // Each word's old values were 0, 1, 2, …, each once.
  const std::uint64_t fuller = operations_ % words_;  // words with one addition more
  const std::uint64_t olds =
      (words_ - fuller) * sum_below(operations_ / words_) + fuller * sum_below(operations_ / words_ + 1);
  return olds_ == olds ? "" : fmt::format("the old values that came back add up to {}, not {}", olds_, olds);
}

std::string Requester::wrong_swaps(const Words& words) const {
  if (words.sum != swapped_) {
    return fmt::format("the words count {} swaps, and {} were reported", words.sum, swapped_);
  }
  if (workload_.depth == 1 && swapped_ != operations_) {
    return fmt::format("{} of {} swaps failed though nobody else changes the words", operations_ - swapped_,
                       operations_);
  }
  return {};
}

void Requester::require(const std::string& wrong, const char* where) const {
  if (!wrong.empty()) {
    throw VerificationFailed(fmt::format("{} of {} bytes at depth {}: {}, {}", to_string(workload_.op),
                                         workload_.bytes_moved(), workload_.depth, where, wrong));
  }
}

// The shortest of a few averages: a reading and nothing else.
std::uint64_t Requester::clock_cost() const {
  constexpr int kRounds = 5;
  constexpr std::uint64_t kReads = 1000;
  std::uint64_t cost = UINT64_MAX;
  for (int round = 0; round < kRounds; ++round) {
    const ferry::TimePoint begin = clock_.now();
    ferry::TimePoint end = begin;
    for (std::uint64_t read = 0; read < kReads; ++read) {
      end = clock_.now();
    }
    cost = std::min(cost, picoseconds(end - begin) / kReads);
  }
  return cost;
}

std::uint64_t Requester::choose_group() const {
  const std::uint64_t median = histogram_.percentile(0.5);  // of single operations, a reading included
  if (histogram_.count() == 0 || median >= (kReadings + 1) * clock_cost_) {
    return 1;
  }
  const std::uint64_t alone = std::max<std::uint64_t>(median - std::min(median, clock_cost_), 1);
  return std::clamp<std::uint64_t>((kReadings * clock_cost_ + alone - 1) / alone, 1, kMaxGroup);
}

}  // namespace rdma_pingpong
