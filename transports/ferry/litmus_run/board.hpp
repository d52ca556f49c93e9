// Board: memory that all processes of a litmus run share beside the tested one: where threads meet before each run,
// where they find out that a run is stuck, and where its outcome is put together.
//
// It is a file in memory that its maker's processes open by number, so every process is on the same host. Atomics in it
// are free of locks; waiting threads sleep in the kernel after a while. Any thread of any process may use it, but
// lay_out() only while nobody else does. Move-only; the mapping ends with it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <ferry/base/result.hpp>
#include <ferry/litmus_run/layout.hpp>

namespace ferry::litmus_run {

// Which file of which process; travels to those that shall open it.
struct BoardPlace {
  std::int32_t process = 0;
  std::int32_t descriptor = -1;
};

// Where a fixed number of threads wait for each other, again and again.
struct Barrier {
  alignas(kCacheLine) std::atomic<std::uint32_t> arrived;
  std::atomic<std::uint32_t> sleepers;
  std::uint32_t parties;
  alignas(kCacheLine) std::atomic<std::uint32_t> generation;
};

// How the threads of one run stand: some have finished, some wait for what may never come, and of these some have voted
// that they saw it missing while all stood still. When all have, nothing can change any more: the run is stuck.
class Standing {
 public:
  // Of this many threads.
  bool all_stand_still(std::size_t threads) const noexcept { return finished() + waiting() == threads; }
  bool is_stuck(std::size_t threads) const noexcept {
    return all_stand_still(threads) && waiting() > 0 && votes() == waiting();
  }
  std::uint32_t epoch() const noexcept { return static_cast<std::uint32_t>(word_ >> 32); }

  explicit Standing(std::uint64_t word = 0) noexcept : word_(word) {}
  std::uint64_t word() const noexcept { return word_; }
  Standing with(std::size_t finished, std::size_t waiting) const noexcept {  // a new epoch, and so without votes
    return Standing((std::uint64_t{epoch() + 1U} << 32) | finished << 10 | waiting);
  }
  Standing with_vote() const noexcept { return Standing(word_ + (std::uint64_t{1} << 20)); }

  std::size_t waiting() const noexcept { return word_ & 0x3FF; }
  std::size_t finished() const noexcept { return (word_ >> 10) & 0x3FF; }
  std::size_t votes() const noexcept { return (word_ >> 20) & 0x3FF; }

 private:
  std::uint64_t word_;
};

// Of one queue in one run: at the owner's end.
struct Notifications {
  std::atomic<std::uint32_t> arrived;
  std::atomic<std::uint32_t> taken;

  // The next one, for one thread.
  bool take() noexcept {
    std::uint32_t before = taken.load();
    while (before < arrived.load(std::memory_order_acquire)) {
      if (taken.compare_exchange_weak(before, before + 1)) {
        return true;
      }
    }
    return false;
  }
};

class Board {
 public:
  // resource_exhausted.
  static Result<Board> create();
  static Result<Board> open(const BoardPlace& place);

  Board(Board&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), descriptor_(std::exchange(other.descriptor_, -1)) {}
  Board& operator=(Board&&) = delete;
  ~Board();

  BoardPlace place() const noexcept;

  // Makes room for the program's runs. unsupported where it does not fit.
  Result<void> lay_out(const litmus::Program& program, const Layout& layout);

  // All threads and one keeper for each node; before the first and after the last run of a batch.
  // All false once the board was given up: a thread then ends.
  bool meet_in_batch() noexcept { return meet(header().batch); }
  // All threads, before each run.
  bool meet_before_run() noexcept { return meet(header().run); }

  // Somebody has failed, so that nobody shall wait for it.
  void give_up() noexcept;
  bool is_given_up() const noexcept { return header().is_given_up.load(std::memory_order_acquire) != 0; }

  // By a keeper, before a batch.
  void clear(std::size_t slot) noexcept;

  std::atomic<std::uint64_t>& standing(std::size_t slot) noexcept { return slot_at(slot).standing; }
  std::atomic<std::uint32_t>& stuck(std::size_t slot) noexcept { return slot_at(slot).stuck; }
  Notifications& notifications(std::size_t slot, litmus::QueueIndex queue) noexcept;
  // Locations, then registers.
  std::span<litmus::Value> outcome(std::size_t slot) noexcept;

 private:
  struct Header {
    Barrier batch;
    Barrier run;
    std::atomic<std::uint32_t> is_given_up;
    std::uint32_t queues;
    std::uint64_t values;
    std::uint64_t slot_bytes;
    std::uint64_t slots;
  };
  struct Slot {
    std::atomic<std::uint64_t> standing;
    std::atomic<std::uint32_t> stuck;
    // Followed by the values, then the notifications.
  };

  Board(std::byte* base, int descriptor) noexcept : base_(base), descriptor_(descriptor) {}
  bool meet(Barrier& barrier) noexcept;

  Header& header() const noexcept { return *reinterpret_cast<Header*>(base_); }
  Slot& slot_at(std::size_t slot) const noexcept;

  std::byte* base_;
  int descriptor_;
};

// One step of a thread that waits: a pause first, then the processor goes to others. spins: how long it waits already.
void wait_a_little(std::size_t spins) noexcept;
// So many pauses, each of some ten nanoseconds.
void pause_for(std::uint64_t pauses) noexcept;

}  // namespace ferry::litmus_run
