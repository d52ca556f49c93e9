// Liveness: whether the owner of a channel still polls, told by the beat on its board.
//
// The owner's polling thread counts its beat up once a heartbeat, for as long as somebody is connected. The initiator
// looks once a tick. Silence is counted in ticks, not read off a clock: a process that was itself stopped for a while
// finds one silent tick, not a dead peer. Neither depends on load, on messages or on user code.
#pragma once

#include <algorithm>
#include <cstdint>

#include <ferry/shm/board.hpp>
#include <ferry/transport/node_core.hpp>

namespace ferry::shm {

class Liveness {
 public:
  explicit Liveness(const NodeLimits& limits) noexcept
      : tick_(std::max<Duration>(std::min(limits.failure_detection / kTicks, limits.heartbeat), kShortest)),
        // The last beat may have come right behind a look, so one tick less is waited for.
        limit_(std::max<Duration::rep>(limits.failure_detection / tick_ - 1, 2)) {}

  // Between two looks.
  Duration tick() const noexcept { return tick_; }

  // Called once a tick. False: the owner has been silent for the time of failure detection.
  bool look(const PeerBoard& owner) noexcept {
    const std::uint64_t beat = owner->beat.value.load(std::memory_order_relaxed);
    silent_ = beat == seen_ ? silent_ + 1 : 0;
    seen_ = beat;
    return silent_ < limit_;
  }

  // The owner's part: one more, by its polling thread; and how long until the next.
  static void beat(const OwnBoard& board) noexcept {
    auto& word = board->beat.value;
    word.store(word.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  static Duration between_beats(const NodeLimits& limits) noexcept {
    return std::max<Duration>(limits.heartbeat, kShortest);
  }

 private:
  static constexpr int kTicks = 10;  // in the time of failure detection
  static constexpr Duration kShortest = std::chrono::milliseconds(1);

  const Duration tick_;
  const Duration::rep limit_;
  Duration::rep silent_ = 0;  // looks in a row that found no beat
  std::uint64_t seen_ = 0;
};

}  // namespace ferry::shm
