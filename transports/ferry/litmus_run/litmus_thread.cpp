#include <ferry/litmus_run/litmus_thread.hpp>

#include <algorithm>
#include <atomic>
#include <optional>

namespace ferry::litmus_run {
namespace {

using litmus::Opcode;

constexpr std::size_t kTurnsBetweenClocks = 256;
constexpr std::size_t kTurnsBeforeStanding = 64;  // most waits end before it counts where everybody stands

class QueueLock {
 public:
  explicit QueueLock(UsedQueue& used) {
    if (used.is_shared) {
      lock_.emplace(used.mutex);
    }
  }

 private:
  std::optional<std::lock_guard<std::mutex>> lock_;
};

}  // namespace

LitmusThread::LitmusThread(const ThreadPlace& place, litmus::ThreadIndex thread, std::uint64_t seed)
    : place_(place),
      thread_(place.program->threads[thread]),
      threads_(place.program->threads.size()),
      registers_(place.program->registers.size()),
      random_(mix64(seed) + thread) {}

void LitmusThread::run_batch(std::size_t slots) {
  for (std::size_t slot = 0; slot < slots; ++slot) {
    if (!place_.board->meet_before_run()) {
      return;
    }
    const Outcome outcome = run(slot);
    if (outcome == Outcome::given_up || !settle(slot)) {
      return;
    }
    if (outcome == Outcome::went_on) {
      change_standing(slot, 1, 0);
    }
    const auto values = place_.board->outcome(slot).subspan(place_.program->locations.size());
    for (std::size_t index = 0; index < registers_.size(); ++index) {
      if (&place_.program->threads[place_.program->registers[index].thread] == &thread_) {
        values[index] = registers_[index];
      }
    }
  }
}

LitmusThread::Outcome LitmusThread::run(std::size_t slot) {
  // Some runs are tight and some are loose: what two threads do within a few instructions of each other differs.
  const std::uint64_t longest = std::uint64_t{1} << random_.below(place_.jitter + 1U);
  pause_for(random_.below(longest));
  for (const litmus::Instruction& instruction : thread_.instructions) {
    const Outcome outcome = execute(slot, instruction);
    if (outcome != Outcome::went_on) {
      return outcome;
    }
    if (random_.below(2) == 0) {
      pause_for(random_.below(longest));
    }
  }
  return Outcome::went_on;
}

LitmusThread::Outcome LitmusThread::execute(std::size_t slot, const litmus::Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::store:
      word(slot, instruction.location).store(value_of(instruction.source), std::memory_order_release);
      return Outcome::went_on;
    case Opcode::load:
      registers_[instruction.destination] = word(slot, instruction.location).load(std::memory_order_acquire);
      return Outcome::went_on;
    case Opcode::wait: {
      const litmus::Value awaited = value_of(instruction.source);
      return wait_until(slot,
                        [&] { return word(slot, instruction.location).load(std::memory_order_acquire) == awaited; });
    }
    case Opcode::fence:
      std::atomic_thread_fence(std::memory_order_seq_cst);
      return Outcome::went_on;
    case Opcode::compare_swap: {
      litmus::Value found = instruction.expected;
      word(slot, instruction.location).compare_exchange_strong(found, instruction.operand);
      registers_[instruction.destination] = found;
      return Outcome::went_on;
    }
    case Opcode::fetch_add:
      registers_[instruction.destination] = word(slot, instruction.location).fetch_add(instruction.operand);
      return Outcome::went_on;
    case Opcode::post: {
      const litmus::Operation& operation = place_.program->operations[instruction.operation];
      UsedQueue& used = *place_.queues[operation.queue];
      bool is_posted = false;
      {
        const QueueLock lock(used);
        is_posted = used.queue->post(slot, operation);
      }
      return is_posted || !has_failed(slot) ? Outcome::went_on : Outcome::given_up;
    }
    case Opcode::poll: {
      UsedQueue& used = *place_.queues[instruction.queue];
      return wait_until(slot, [&] {
        const QueueLock lock(used);
        return used.queue->take_completion(slot);
      });
    }
    case Opcode::receive_poll: {
      Notifications& notifications = place_.board->notifications(slot, instruction.queue);
      return wait_until(slot, [&] { return notifications.take(); });
    }
  }
  return Outcome::went_on;
}

// A thread whose condition does not hold says so once nothing of its own is under way. What it saw before all stood
// still proves nothing, so it looks again, at a standing that it has read before, and votes by changing just that one.
template <class Condition>
LitmusThread::Outcome LitmusThread::wait_until(std::size_t slot, Condition&& condition) {
  Board& board = *place_.board;
  std::optional<std::chrono::steady_clock::time_point> end;
  std::optional<std::uint32_t> voted;
  bool stands_still = false;
  for (std::size_t turn = 0;; ++turn) {
    Standing seen(board.standing(slot).load());
    if (condition()) {
      if (stands_still) {
        change_standing(slot, 0, -1);
      }
      return Outcome::went_on;
    }
    if (seen.is_stuck(threads_) || board.stuck(slot).load() != 0) {
      board.stuck(slot).store(1);
      return Outcome::is_stuck;
    }
    if (board.is_given_up() || has_failed(slot)) {
      return Outcome::given_up;
    }
    if (!stands_still && turn > kTurnsBeforeStanding && are_queues_quiet(slot)) {
      change_standing(slot, 0, 1);
      stands_still = true;
    } else if (stands_still && seen.all_stand_still(threads_) && voted != seen.epoch()) {
      std::uint64_t expected = seen.word();
      if (board.standing(slot).compare_exchange_strong(expected, seen.with_vote().word())) {
        voted = seen.epoch();
      }
    }
    if (turn % kTurnsBetweenClocks == kTurnsBetweenClocks - 1) {
      const auto now = std::chrono::steady_clock::now();
      end = end.value_or(now + place_.limit);
      if (now >= *end) {
        board.stuck(slot).store(1);
        return Outcome::is_stuck;
      }
    }
    wait_a_little(turn);
  }
}

bool LitmusThread::are_queues_quiet(std::size_t slot) {
  return std::all_of(place_.queues.begin(), place_.queues.end(), [slot](UsedQueue* used) {
    if (used == nullptr) {
      return true;
    }
    const QueueLock lock(*used);
    return used->queue->is_quiet(slot);
  });
}

bool LitmusThread::settle(std::size_t slot) {
  for (std::size_t turn = 0; !are_queues_quiet(slot); ++turn) {
    if (place_.board->is_given_up()) {
      return false;
    }
    wait_a_little(turn);
  }
  return !has_failed(slot);
}

void LitmusThread::change_standing(std::size_t slot, int finished, int waiting) {
  std::atomic<std::uint64_t>& word = place_.board->standing(slot);
  std::uint64_t before = word.load();
  for (;;) {
    const Standing now(before);
    const auto then = now.with(now.finished() + static_cast<std::size_t>(finished),
                               now.waiting() + static_cast<std::size_t>(waiting));
    if (word.compare_exchange_weak(before, then.word())) {
      return;
    }
  }
}

bool LitmusThread::has_failed(std::size_t slot) {
  for (UsedQueue* const used : place_.queues) {
    if (used == nullptr) {
      continue;
    }
    const QueueLock lock(*used);
    if (const Failure why = used->queue->failure(slot)) {
      failure_ = why;
      place_.board->give_up();
      return true;
    }
  }
  return false;
}

std::atomic_ref<litmus::Value> LitmusThread::word(std::size_t slot, litmus::LocationIndex location) const {
  return std::atomic_ref(*reinterpret_cast<litmus::Value*>(place_.memory + place_.layout.offset(slot, location)));
}

litmus::Value LitmusThread::value_of(const litmus::Source& source) const {
  return source.from_register ? registers_[*source.from_register] : source.value;
}

}  // namespace ferry::litmus_run
