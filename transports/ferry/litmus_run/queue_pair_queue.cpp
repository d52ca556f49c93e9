#include <ferry/litmus_run/queue_pair_queue.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <ferry/litmus_run/channel_queue.hpp>

namespace ferry::litmus_run {
namespace {

using litmus::OperationKind;
using queue::Verb;

constexpr int kNothingFailed = -1;
constexpr int kQueueLost = -2;
constexpr std::size_t kMostReceives = 64;
// Of a request's id: a cover; the rest is the slot.
constexpr std::uint64_t kCover = std::uint64_t{1} << 63;

Verb verb_of(OperationKind kind) noexcept {
  switch (kind) {
    case OperationKind::put:
      return Verb::put;
    case OperationKind::get:
      return Verb::get;
    case OperationKind::fetch_add:
      return Verb::fetch_add;
    case OperationKind::compare_swap:
      break;
  }
  return Verb::compare_swap;
}

bool lies_side_by_side(const litmus::Operation& operation) noexcept {
  const litmus::Chunk& first = operation.chunks.front();
  for (std::size_t index = 0; index < operation.chunks.size(); ++index) {
    if (operation.chunks[index].local != first.local + index ||
        operation.chunks[index].remote != first.remote + index) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<std::string> why_not_on_queue_pairs(const litmus::Program& program, const queue::DeviceLimits& limits,
                                                  bool atomics_with_cpu) {
  if (limits.order != queue::OrderClass::strict && limits.order != queue::OrderClass::unordered) {
    return "on such a device nothing tells when a run is over";
  }
  for (const litmus::Operation& operation : program.operations) {
    if (litmus::is_atomic(operation.kind) && !limits.atomics) {
      return "the device has no atomics";
    }
    if (litmus::is_atomic(operation.kind) && program.atomics == litmus::AtomicScope::glob && !atomics_with_cpu) {
      return "the device's atomics do not exclude the processor's";
    }
    if (!lies_side_by_side(operation)) {
      return "a request names one range on each side, and the words of a message are not declared one behind the other";
    }
  }
  return std::nullopt;
}

Layout layout_for_queue_pairs(const litmus::Program& program) noexcept {
  const bool has_lists = std::any_of(program.operations.begin(), program.operations.end(),
                                     [](const auto& operation) { return operation.chunks.size() > 1; });
  return layout_of(program, has_lists ? sizeof(litmus::Value) : kCacheLine);
}

Result<std::unique_ptr<QueuePairQueue>> QueuePairQueue::create(const litmus::Program& program, litmus::QueueIndex queue,
                                                               const Layout& layout, Board& board, const Place& place) {
  std::unique_ptr<QueuePairQueue> made(new QueuePairQueue(program, queue, layout, board, place));
  const std::size_t bytes = layout.slots * made->capacity_ * made->longest_ * sizeof(litmus::Value);
  const auto key = place.device->register_local(reinterpret_cast<std::byte*>(made->spare_.get()), bytes);
  if (!key) {
    return key.error();
  }
  made->spare_key_ = *key;
  queue::QueuePairOptions options;
  options.requests = std::min(options.requests, place.device->limits().requests);
  options.receives = 1;
  auto pair = place.device->create_queue_pair(options, *made);
  if (!pair) {
    return pair.error();
  }
  made->pair_ = std::move(*pair);
  return made;
}

QueuePairQueue::QueuePairQueue(const litmus::Program& program, litmus::QueueIndex queue, const Layout& layout,
                               Board& board, const Place& place)
    : queue_(queue), layout_(layout), board_(board), place_(place), runs_(std::make_unique<Run[]>(layout.slots)) {
  for (const litmus::Operation& operation : program.operations) {
    if (operation.queue == queue) {
      ++capacity_;
      longest_ = std::max(longest_, operation.chunks.size());
    }
  }
  capacity_ = std::max<std::size_t>(capacity_, 1);  // a queue that nobody uses has memory to register all the same
  spare_ = std::make_unique<litmus::Value[]>(layout.slots * capacity_ * longest_);
}

QueuePairQueue::~QueuePairQueue() {
  pair_.reset();
  if (spare_key_ != 0) {
    place_.device->deregister_local(spare_key_);
  }
}

void QueuePairQueue::clear(std::size_t slot) noexcept {
  Run& run = runs_[slot];
  run.posted.clear();
  run.taken = run.covered = run.covers = 0;
  run.immediates = 0;
  run.completed.store(0);
  run.covers_completed.store(0);
}

queue::WorkRequest QueuePairQueue::request_of(std::size_t slot, const litmus::Operation& operation) const noexcept {
  const litmus::Chunk& first = operation.chunks.front();
  queue::WorkRequest request;
  request.id = slot;
  request.verb = verb_of(operation.kind);
  request.fenced = operation.is_fenced;
  request.has_immediate = operation.has_immediate;
  request.immediate = static_cast<std::uint32_t>(tag_of(slot, queue_));
  request.local = place_.local.base + layout_.offset(slot, first.local);
  request.local_key = place_.local.key;
  request.length = operation.chunks.size() * sizeof(litmus::Value);
  request.remote = {place_.remote.key, place_.remote.address + layout_.offset(slot, first.remote)};
  request.operand = operation.operand;
  request.expected = operation.expected;
  return request;
}

// A full queue has room again as soon as requests complete, which waits for no thread.
bool QueuePairQueue::post_request(std::size_t slot, const queue::WorkRequest& request) noexcept {
  for (std::size_t turn = 0;; ++turn) {
    const auto posted = pair_->post(std::span(&request, 1));
    if (posted) {
      return true;
    }
    if (posted.error().code() != errc::resource_exhausted || failed_.load() != kNothingFailed) {
      runs_[slot].refused = posted.error();
      return false;
    }
    wait_a_little(turn);
  }
}

bool QueuePairQueue::post(std::size_t slot, const litmus::Operation& operation) noexcept {
  Run& run = runs_[slot];
  queue::WorkRequest request = request_of(slot, operation);
  if (operation.is_inline) {
    request.local = spare(slot, run.posted.size());
    request.local_key = spare_key_;
    auto* const copy = reinterpret_cast<litmus::Value*>(request.local);
    for (std::size_t index = 0; index < operation.chunks.size(); ++index) {
      auto& word =
          *reinterpret_cast<litmus::Value*>(place_.local.base + layout_.offset(slot, operation.chunks[index].local));
      copy[index] = std::atomic_ref(word).load(std::memory_order_acquire);
    }
  }
  run.posted.push_back(&operation);
  run.immediates += operation.has_immediate ? 1U : 0U;
  return post_request(slot, request);
}

bool QueuePairQueue::take_completion(std::size_t slot) noexcept {
  Run& run = runs_[slot];
  if (run.taken >= run.completed.load(std::memory_order_acquire)) {
    return false;
  }
  ++run.taken;
  return true;
}

// Gets of the same words, behind the puts that have completed: what they return was in memory.
bool QueuePairQueue::is_quiet(std::size_t slot) noexcept {
  Run& run = runs_[slot];
  if (run.refused || failed_.load() != kNothingFailed) {
    return true;
  }
  if (run.completed.load(std::memory_order_acquire) < run.posted.size()) {
    return false;
  }
  for (; run.covered < run.posted.size(); ++run.covered) {
    const litmus::Operation& operation = *run.posted[run.covered];
    if (operation.kind != OperationKind::put) {
      continue;
    }
    queue::WorkRequest cover = request_of(slot, operation);
    cover.id = slot | kCover;
    cover.verb = Verb::get;
    cover.fenced = cover.has_immediate = false;
    cover.local = spare(slot, run.covered);
    cover.local_key = spare_key_;
    if (!post_request(slot, cover)) {
      return true;
    }
    ++run.covers;
  }
  return run.covers_completed.load(std::memory_order_acquire) == run.covers &&
         board_.notifications(slot, queue_).arrived.load() >= run.immediates;
}

Failure QueuePairQueue::failure(std::size_t slot) const {
  if (const auto& refused = runs_[slot].refused) {
    return *refused;
  }
  const int failed = failed_.load();
  if (failed == kNothingFailed) {
    return {};
  }
  return Failure(errc::outcome_unknown, failed == kQueueLost
                                            ? "the queue pair was lost"
                                            : fmt::format("a request of the test ended: {}",
                                                          to_string(static_cast<queue::WorkStatus>(failed))));
}

void QueuePairQueue::on_completion(queue::QueuePair& /*pair*/, const queue::WorkCompletion& completion) noexcept {
  if (completion.status != queue::WorkStatus::success) {
    int nothing = kNothingFailed;
    failed_.compare_exchange_strong(nothing, static_cast<int>(completion.status));
    return;
  }
  Run& run = runs_[completion.id & ~kCover];
  auto& count = (completion.id & kCover) != 0 ? run.covers_completed : run.completed;
  count.fetch_add(1, std::memory_order_release);
}

void QueuePairQueue::on_queue_lost(queue::QueuePair& /*pair*/, const Failure& /*why*/) noexcept {
  failed_.store(kQueueLost);
}

Result<std::unique_ptr<QueuePairTarget>> QueuePairTarget::create(Board& board, queue::Device& device) {
  std::unique_ptr<QueuePairTarget> made(new QueuePairTarget(board));
  queue::QueuePairOptions options;
  options.requests = 1;
  options.receives = std::min(kMostReceives, device.limits().receives);
  auto pair = device.create_queue_pair(options, *made);
  if (!pair) {
    return pair.error();
  }
  made->pair_ = std::move(*pair);
  for (std::size_t index = 0; index < options.receives; ++index) {
    if (const auto posted = made->pair_->post_receive(index, nullptr, 0, 0); !posted) {
      return posted.error();
    }
  }
  return made;
}

QueuePairTarget::~QueuePairTarget() = default;

void QueuePairTarget::on_completion(queue::QueuePair& pair, const queue::WorkCompletion& completion) noexcept {
  if (!completion.is_receive || completion.status != queue::WorkStatus::success) {
    return;
  }
  if (!pair.post_receive(completion.id, nullptr, 0, 0)) {
    board_.give_up();  // its room was the one that has just been used
    return;
  }
  board_.notifications(slot_of(completion.immediate), queue_of(completion.immediate)).arrived.fetch_add(1);
}

// The initiator's end says so.
void QueuePairTarget::on_queue_lost(queue::QueuePair& /*pair*/, const Failure& /*why*/) noexcept {}

}  // namespace ferry::litmus_run
