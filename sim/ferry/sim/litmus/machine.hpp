// Machine: the litmus machine: which steps a state allows, and what each of them does.
//
// The rules of README.md in this folder, one function a rule; what differs between profiles is the Profile's table
// alone. Stateless but for the two references, which must outlive it; any number of threads may use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ferry/sim/litmus/profile.hpp>
#include <ferry/sim/litmus/program.hpp>
#include <ferry/sim/litmus/state.hpp>

namespace ferry::sim::litmus {

struct Step {
  enum class Kind : std::uint8_t {
    execute,        // a thread's next instruction
    drain,          // the head of a thread's store buffer
    advance,        // a chunk, to its next stage
    immediate,      // of a put: a receive completion sets out
    retire,         // the first operation of a list: a completion sets out
    commit_local,   // an entry of wbL
    commit_remote,  // an entry of wbR
  };
  Kind kind = Kind::execute;
  std::uint8_t actor = 0;      // the thread, or the queue
  std::uint16_t position = 0;  // in the list, wbL or wbR
  std::uint8_t chunk = 0;      // advance

  friend bool operator==(const Step&, const Step&) = default;
};

// What the step from `stage` is; `stage` is not the last one.
SubAction sub_action(OperationKind kind, std::uint8_t stage) noexcept;
std::uint8_t last_stage(OperationKind kind) noexcept;

class Machine {
 public:
  Machine(const Program& program, const Profile& profile) noexcept : program_(program), profile_(profile) {}

  State initial() const;

  // All steps that may be next, in a fixed order; replaces the contents of `steps`.
  void find_enabled(const State& state, std::vector<Step>& steps) const;

  // The step must be enabled.
  void take(State& state, const Step& step) const;

  bool is_finished(const State& state) const;  // all threads are

  const Program& program() const noexcept { return program_; }
  const Profile& profile() const noexcept { return profile_; }

 private:
  bool may_execute(const State& state, ThreadIndex thread) const;
  bool may_advance(const State& state, QueueIndex queue, std::size_t position, std::size_t chunk) const;
  bool may_emit_immediate(const State& state, QueueIndex queue, std::size_t position) const;
  bool may_retire(const State& state, QueueIndex queue) const;
  bool may_commit(const std::vector<WriteBack>& entries, std::size_t position) const;

  bool has_passed_the_fence(const State& state, QueueIndex queue, std::size_t position) const;
  bool is_atomic_unit_free(const State& state, NodeIndex owner) const;
  bool is_free_of(const std::vector<WriteBack>& entries, Extent extent, LocationIndex location) const;

  void execute(State& state, ThreadIndex thread) const;
  void post(State& state, ThreadIndex thread, OperationIndex operation) const;
  void drain(State& state, ThreadIndex thread) const;
  void retire(State& state, QueueIndex queue) const;
  void advance(State& state, QueueIndex queue, std::size_t position, std::size_t chunk) const;

  const Program& program_;
  const Profile& profile_;
};

// The states of an operation's chunks, in their order.
std::span<const ChunkState> chunks_of(const State& state, const Operation& operation);

// What a thread sees at a location: the newest store in its buffer, else memory.
Value view(const State& state, const ThreadState& thread, LocationIndex location);

}  // namespace ferry::sim::litmus
