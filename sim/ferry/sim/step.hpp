// Step: one thing that the simulated fabric or a plan will do at one moment; intrusive, so that scheduling allocates
// nothing.
//
// Owner: whoever schedules it, who keeps it until it has run or was withdrawn. Scheduled at most once at a time; it may
// be scheduled again from inside its own function.
#pragma once

#include <cstdint>

#include <boost/intrusive/set.hpp>

#include <ferry/base/check.hpp>
#include <ferry/base/time.hpp>
#include <ferry/sim/ids.hpp>

namespace ferry::sim {

// What a step is about; part of the hash.
enum class StepKind : std::uint8_t {
  job = 1,      // a strand's or library's job in a process
  timer,        // an executor's timer
  plan,         // something that World::at was given
  lifecycle,    // a process starts, exits or is killed; a parent is told
  connect,      // a channel is asked for, granted, refused
  end_channel,  // one end of a channel learns that it has ended
  message,      // a message arrives
  sample,       // source bytes are read
  place,        // bytes arrive
  memory,       // a region is attached or detached
  packet,       // a packet arrives at a NIC
  retry,        // a NIC looks whether what it sent was acknowledged
  poll,         // a process looks at its completions
};

// Where a step comes from: the step during which it was scheduled, or sent.
struct Cause {
  std::uint64_t step = 0;  // its index, from 1; 0: none
  ProcessNumber process{};
  TimePoint at{};
  explicit operator bool() const noexcept { return step != 0; }
};

// Whether the process itself does it: a process that is paused does not. The others are its NIC's and the world's.
constexpr bool is_of_the_process(StepKind kind) noexcept {
  return kind != StepKind::plan && kind != StepKind::sample && kind != StepKind::place && kind != StepKind::memory &&
         kind != StepKind::packet && kind != StepKind::retry;
}

class Step {
 public:
  using Function = void (*)(Step&) noexcept;

  explicit Step(Function function) noexcept : function_(function) {}
  ~Step() { FERRY_CHECK(state_ == State::idle); }
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  bool is_scheduled() const noexcept { return state_ != State::idle; }

 private:
  friend class Scheduler;
  enum class State : std::uint8_t { idle, timed, ready };

  Function function_;
  TimePoint due_{};
  std::uint64_t order_ = 0;
  std::uint64_t number_ = 0;
  Cause cause_{};
  boost::intrusive::set_member_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>> hook_;
  ProcessNumber process_{};
  StepKind kind_{};
  State state_ = State::idle;
};

}  // namespace ferry::sim
