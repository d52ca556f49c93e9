#include "loops.hpp"

#include <unistd.h>

#include <algorithm>

#include "polling.hpp"
#include "samples.hpp"

namespace ferry_bench {

std::uint64_t loop_length(std::size_t bytes, double each, double per_ns) noexcept {
  constexpr double kLoop = 4e6;  // nanoseconds
  constexpr double kMost = 100'000;
  const double count = kLoop / (each + static_cast<double>(bytes) / per_ns);
  return static_cast<std::uint64_t>(std::clamp(count, 2.0, kMost));
}

ferry::Task<double> time_reads(ferry::BufferRef remote, std::span<std::byte> local, std::uint64_t count) {
  const Clock::time_point begin = Clock::now();
  for (std::uint64_t index = 0; index < count; ++index) {
    co_await remote.read_into(local);
  }
  co_return nanoseconds_each(begin, static_cast<double>(count));
}

ferry::Task<double> time_writes(ferry::BufferRef remote, std::span<std::byte> local, std::uint64_t count) {
  const Clock::time_point begin = Clock::now();
  for (std::uint64_t index = 0; index < count; ++index) {
    co_await remote.write_from(local);
  }
  co_return nanoseconds_each(begin, static_cast<double>(count));
}

ferry::Task<double> time_echoes(PartnerRef partner, std::uint64_t count) {
  const Clock::time_point begin = Clock::now();
  for (std::uint64_t index = 0; index < count; ++index) {
    co_await partner.call<&Partner::echo>(index);
  }
  co_return nanoseconds_each(begin, static_cast<double>(count));
}

PingPong::PingPong(ferry::Context context, PartnerRef partner)
    : partner_(partner), buffer_(context.register_memory(std::span(line_))) {}

ferry::Task<void> PingPong::prepare() {
  there_ = co_await partner_.call<&Partner::line>();
  const MappingName name = co_await partner_.call<&Partner::map>(2 * sizeof(Line));
  mapping_ = Mapping::open(name);
  auto* const lines = reinterpret_cast<Line*>(mapping_.memory().data());
  lines[0] = lines[1] = Line{};
}

// The first round is not timed: it brings the other end there, and whatever must be mapped.
ferry::Task<double> PingPong::time_ferry(std::uint64_t rounds) {
  const ferry::BufferRef back = buffer_.ref().subrange(0, sizeof(std::uint64_t));
  auto call = partner_.call<&Partner::pong>(back, word_, rounds + 1);
  auto running = ferry::start(std::move(call));
  ++word_;
  co_await there_.write_from(std::span<const std::uint64_t>(&word_, 1));
  wait_for_word(line_.front().word, word_);
  const Clock::time_point begin = Clock::now();
  for (std::uint64_t round = 0; round < rounds; ++round) {
    ++word_;
    co_await there_.write_from(std::span<const std::uint64_t>(&word_, 1));
    wait_for_word(line_.front().word, word_);
  }
  const double each = nanoseconds_each(begin, static_cast<double>(rounds));
  co_await running;
  co_return each;
}

ferry::Task<double> PingPong::time_bare(std::uint64_t rounds) {
  auto* const lines = reinterpret_cast<Line*>(mapping_.memory().data());
  auto call = partner_.call<&Partner::bare_pong>(bare_word_, rounds + 1);
  auto running = ferry::start(std::move(call));
  const auto round_trip = [this, lines] {
    ++bare_word_;
    store_word(lines[0].word, bare_word_);
    wait_for_word(lines[1].word, bare_word_);
  };
  round_trip();
  const Clock::time_point begin = Clock::now();
  for (std::uint64_t round = 0; round < rounds; ++round) {
    round_trip();
  }
  const double each = nanoseconds_each(begin, static_cast<double>(rounds));
  co_await running;
  co_return each;
}

CostMeter::CostMeter(pid_t partner)
    : calls_(SystemCallCounter::create({::getpid(), partner})), allocations_(allocations()) {}

void CostMeter::report(const std::string& name, std::uint64_t operations) {
  const std::uint64_t allocated = allocations() - allocations_;
  const auto each = static_cast<double>(operations);
  if (calls_) {
    ferry_bench::report(name + "/syscalls", static_cast<double>(calls_->take()) / each);
  }
  ferry_bench::report(name + "/allocations", static_cast<double>(allocated) / each);
}

}  // namespace ferry_bench
