// LitmusThread: executes the instructions of one litmus thread, run after run, on real memory and real queues.
//
// A store is a plain store of the processor and a load a plain load: nothing orders them but its own rules (total store
// order on x86-64). Between instructions it pauses for random moments. Owner: its node's process; one operating
// system's thread calls it. Memory, queues and board outlive it.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <vector>

#include <ferry/base/random.hpp>
#include <ferry/litmus_run/board.hpp>
#include <ferry/litmus_run/real_queue.hpp>

namespace ferry::litmus_run {

// A queue of this node, and the lock that threads need where several use it: one alone takes none, for a lock is a
// fence.
struct UsedQueue {
  RealQueue* queue = nullptr;
  std::mutex mutex{};
  bool is_shared = false;
};

struct ThreadPlace {
  const litmus::Program* program = nullptr;
  Layout layout{};
  Board* board = nullptr;
  std::byte* memory = nullptr;              // of its node
  std::vector<UsedQueue*> queues{};         // by QueueIndex; null where another node posts
  unsigned jitter = 6;                      // pauses of less than two to the power of this
  std::chrono::milliseconds limit{10'000};  // of a wait; then the run counts as stuck
};

class LitmusThread {
 public:
  LitmusThread(const ThreadPlace& place, litmus::ThreadIndex thread, std::uint64_t seed);

  // The runs of one batch, slot by slot. Ends early once the board is given up. A failed operation gives it up.
  void run_batch(std::size_t slots);

  const Failure& failure() const noexcept { return failure_; }

 private:
  enum class Outcome : unsigned char { went_on, is_stuck, given_up };

  Outcome run(std::size_t slot);
  Outcome execute(std::size_t slot, const litmus::Instruction& instruction);
  template <class Condition>
  Outcome wait_until(std::size_t slot, Condition&& condition);
  bool are_queues_quiet(std::size_t slot);
  bool settle(std::size_t slot);  // false: given up
  void change_standing(std::size_t slot, int finished, int waiting);
  bool has_failed(std::size_t slot);

  std::atomic_ref<litmus::Value> word(std::size_t slot, litmus::LocationIndex location) const;
  litmus::Value value_of(const litmus::Source& source) const;

  ThreadPlace place_;
  const litmus::Thread& thread_;
  std::size_t threads_;
  std::vector<litmus::Value> registers_;  // of all threads; only its own are used
  Random random_;
  Failure failure_{};
};

}  // namespace ferry::litmus_run
