// When each step may be next.
#include <algorithm>
#include <array>

#include <ferry/sim/litmus/machine.hpp>

namespace ferry::sim::litmus {
namespace {

constexpr bool is_held_back(Extent extent, LocationIndex by, LocationIndex step) noexcept {
  return extent == Extent::all || (extent == Extent::same_location && by == step);
}

bool is_finished(const State& state, const Operation& operation) {
  const std::uint8_t last = last_stage(operation.kind);
  const auto chunks = chunks_of(state, operation);
  return std::all_of(chunks.begin(), chunks.end(), [&](const ChunkState& chunk) { return chunk.stage == last; });
}

// Remotely done: a put's write appended, an atomic's write in memory. Both are stage 2.
bool has_written(const State& state, const Operation& operation) {
  const auto chunks = chunks_of(state, operation);
  return std::all_of(chunks.begin(), chunks.end(), [](const ChunkState& chunk) { return chunk.stage >= 2; });
}

}  // namespace

SubAction sub_action(OperationKind kind, std::uint8_t stage) noexcept {
  using enum SubAction;
  if (is_atomic(kind)) {
    return std::array{atomic_read, atomic_write, atomic_result}[stage];
  }
  return kind == OperationKind::put ? std::array{put_read, put_write}[stage] : std::array{get_read, get_result}[stage];
}

std::uint8_t last_stage(OperationKind kind) noexcept {
  return is_atomic(kind) ? 3 : 2;
}

std::span<const ChunkState> chunks_of(const State& state, const Operation& operation) {
  return std::span(state.chunks).subspan(operation.first_chunk, operation.chunks.size());
}

Value view(const State& state, const ThreadState& thread, LocationIndex location) {
  const auto newest = std::find_if(thread.buffer.rbegin(), thread.buffer.rend(), [&](const BufferEntry& entry) {
    return !entry.is_operation && entry.index == location;
  });
  return newest == thread.buffer.rend() ? state.memory[location] : newest->value;
}

bool Machine::is_finished(const State& state) const {
  for (std::size_t thread = 0; thread < state.threads.size(); ++thread) {
    if (state.threads[thread].next != program_.threads[thread].instructions.size()) {
      return false;
    }
  }
  return true;
}

void Machine::find_enabled(const State& state, std::vector<Step>& steps) const {
  steps.clear();
  const auto add = [&](Step::Kind kind, std::size_t actor, std::size_t position = 0, std::size_t chunk = 0) {
    steps.push_back({kind, static_cast<std::uint8_t>(actor), static_cast<std::uint16_t>(position),
                     static_cast<std::uint8_t>(chunk)});
  };
  for (ThreadIndex thread = 0; thread < state.threads.size(); ++thread) {
    if (may_execute(state, thread)) {
      add(Step::Kind::execute, thread);
    }
    if (!state.threads[thread].buffer.empty()) {
      add(Step::Kind::drain, thread);
    }
  }
  for (QueueIndex index = 0; index < state.queues.size(); ++index) {
    const QueueState& queue = state.queues[index];
    for (std::size_t position = 0; position < queue.list.size(); ++position) {
      const std::size_t chunks = program_.operations[queue.list[position].operation].chunks.size();
      for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
        if (may_advance(state, index, position, chunk)) {
          add(Step::Kind::advance, index, position, chunk);
        }
      }
      if (may_emit_immediate(state, index, position)) {
        add(Step::Kind::immediate, index, position);
      }
    }
    if (may_retire(state, index)) {
      add(Step::Kind::retire, index);
    }
    for (std::size_t position = 0; position < queue.to_local.size(); ++position) {
      if (may_commit(queue.to_local, position)) {
        add(Step::Kind::commit_local, index, position);
      }
    }
    for (std::size_t position = 0; position < queue.to_remote.size(); ++position) {
      if (may_commit(queue.to_remote, position)) {
        add(Step::Kind::commit_remote, index, position);
      }
    }
  }
}

bool Machine::may_execute(const State& state, ThreadIndex thread) const {
  const ThreadState& at = state.threads[thread];
  if (at.next == program_.threads[thread].instructions.size()) {
    return false;
  }
  const Instruction& instruction = program_.threads[thread].instructions[at.next];
  switch (instruction.opcode) {
    case Opcode::store:
    case Opcode::load:
    case Opcode::post:
      return true;
    case Opcode::wait: {
      const Source& source = instruction.source;
      const Value awaited = source.from_register ? state.registers[*source.from_register] : source.value;
      return view(state, at, instruction.location) == awaited;
    }
    case Opcode::fence:
    case Opcode::compare_swap:
    case Opcode::fetch_add:
      return at.buffer.empty();
    case Opcode::poll:
      return state.queues[instruction.queue].completions > 0;
    case Opcode::receive_poll:
      return state.queues[instruction.queue].receive_completions > 0;
  }
  return false;
}

bool Machine::may_advance(const State& state, QueueIndex index, std::size_t position, std::size_t chunk) const {
  const QueueState& queue = state.queues[index];
  const Operation& operation = program_.operations[queue.list[position].operation];
  const std::uint8_t stage = chunks_of(state, operation)[chunk].stage;
  if (stage == last_stage(operation.kind) || (operation.is_fenced && !has_passed_the_fence(state, index, position))) {
    return false;
  }
  const auto [local, remote] = operation.chunks[chunk];
  const SubAction action = sub_action(operation.kind, stage);
  const Profile::Row& row = profile_.row(action);
  if (action == SubAction::put_read && !is_free_of(queue.to_local, row.writes_under_way, local)) {
    return false;
  }
  if ((action == SubAction::get_read || action == SubAction::atomic_read) &&
      !is_free_of(queue.to_remote, row.writes_under_way, remote)) {
    return false;
  }
  if (action == SubAction::atomic_read && !is_atomic_unit_free(state, program_.queues[index].to)) {
    return false;
  }
  for (std::size_t before = 0; before < position; ++before) {
    const Operation& its = program_.operations[queue.list[before].operation];
    const bool is_put = its.kind == OperationKind::put;
    const Extent writes = is_put ? row.put_writes : is_atomic(its.kind) ? row.atomic_writes : Extent::none;
    const Extent reads = is_put ? row.put_reads : Extent::none;
    const Extent results = is_put ? Extent::none : row.results;
    const auto chunks = chunks_of(state, its);
    for (std::size_t other = 0; other < chunks.size(); ++other) {
      const std::uint8_t reached = chunks[other].stage;
      if ((reached < 1 && is_held_back(reads, its.chunks[other].local, local)) ||
          (reached < 2 && is_held_back(writes, its.chunks[other].remote, remote)) ||
          (reached < last_stage(its.kind) && is_held_back(results, its.chunks[other].local, local))) {
        return false;
      }
    }
  }
  return true;
}

// A fence waits for earlier gets and atomics, whatever the profile.
bool Machine::has_passed_the_fence(const State& state, QueueIndex index, std::size_t position) const {
  const std::vector<InFlight>& list = state.queues[index].list;
  return std::all_of(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(position), [&](const InFlight& earlier) {
    const Operation& its = program_.operations[earlier.operation];
    return its.kind == OperationKind::put || litmus::is_finished(state, its);
  });
}

// The atomic unit belongs to the owner's node: all queues toward it share it. A glob atomic never holds it between
// steps.
bool Machine::is_atomic_unit_free(const State& state, NodeIndex owner) const {
  for (std::size_t index = 0; index < state.queues.size(); ++index) {
    if (program_.queues[index].to != owner) {
      continue;
    }
    for (const InFlight& flight : state.queues[index].list) {
      const Operation& operation = program_.operations[flight.operation];
      if (is_atomic(operation.kind) && chunks_of(state, operation).front().stage == 1) {
        return false;
      }
    }
  }
  return true;
}

bool Machine::is_free_of(const std::vector<WriteBack>& entries, Extent extent, LocationIndex location) const {
  return std::none_of(entries.begin(), entries.end(), [&](const WriteBack& entry) {
    return !entry.is_completion && is_held_back(extent, entry.location, location);
  });
}

bool Machine::may_emit_immediate(const State& state, QueueIndex index, std::size_t position) const {
  const std::vector<InFlight>& list = state.queues[index].list;
  const InFlight& flight = list[position];
  const Operation& operation = program_.operations[flight.operation];
  if (!operation.has_immediate || flight.is_immediate_emitted || !has_written(state, operation)) {
    return false;
  }
  return std::all_of(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(position), [&](const InFlight& earlier) {
    const Operation& its = program_.operations[earlier.operation];
    return its.kind == OperationKind::get || has_written(state, its);
  });
}

bool Machine::may_retire(const State& state, QueueIndex index) const {
  const std::vector<InFlight>& list = state.queues[index].list;
  if (list.empty()) {
    return false;
  }
  const Operation& operation = program_.operations[list.front().operation];
  return litmus::is_finished(state, operation) && (!operation.has_immediate || list.front().is_immediate_emitted);
}

bool Machine::may_commit(const std::vector<WriteBack>& entries, std::size_t position) const {
  const WriteBack& entry = entries[position];
  return std::none_of(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(position),
                      [&](const WriteBack& passed) {
                        return entry.is_completion || passed.is_completion ||
                               is_held_back(profile_.commits, passed.location, entry.location);
                      });
}

}  // namespace ferry::sim::litmus
