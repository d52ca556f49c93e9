// What each step does.
#include <ferry/sim/litmus/machine.hpp>

namespace ferry::sim::litmus {
namespace {

// An atomic's effect on the value that it has read; a compare-swap that fails writes nothing.
void write_atomic(const Operation& operation, Value old, Value& target) noexcept {
  if (operation.kind == OperationKind::fetch_add) {
    target = old + operation.operand;
  } else if (old == operation.expected) {
    target = operation.operand;
  }
}

void commit(State& state, std::vector<WriteBack>& entries, std::size_t position, std::uint8_t& completions) {
  const WriteBack entry = entries[position];
  entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(position));
  if (entry.is_completion) {
    ++completions;
  } else {
    state.memory[entry.location] = entry.value;
  }
}

constexpr WriteBack kCompletion = {true, 0, 0};

}  // namespace

State Machine::initial() const {
  State state;
  for (const Location& location : program_.locations) {
    state.memory.push_back(location.initial);
  }
  state.registers.resize(program_.registers.size());
  state.chunks.resize(program_.chunks());
  state.threads.resize(program_.threads.size());
  state.queues.resize(program_.queues.size());
  return state;
}

void Machine::take(State& state, const Step& step) const {
  switch (step.kind) {
    case Step::Kind::execute:
      execute(state, step.actor);
      return;
    case Step::Kind::drain:
      drain(state, step.actor);
      return;
    case Step::Kind::advance:
      advance(state, step.actor, step.position, step.chunk);
      return;
    case Step::Kind::immediate:
      state.queues[step.actor].list[step.position].is_immediate_emitted = true;
      state.queues[step.actor].to_remote.push_back(kCompletion);
      return;
    case Step::Kind::retire:
      retire(state, step.actor);
      return;
    case Step::Kind::commit_local: {
      QueueState& queue = state.queues[step.actor];
      commit(state, queue.to_local, step.position, queue.completions);
      return;
    }
    case Step::Kind::commit_remote: {
      QueueState& queue = state.queues[step.actor];
      commit(state, queue.to_remote, step.position, queue.receive_completions);
      return;
    }
  }
}

void Machine::execute(State& state, ThreadIndex index) const {
  ThreadState& thread = state.threads[index];
  const Instruction& instruction = program_.threads[index].instructions[thread.next++];
  switch (instruction.opcode) {
    case Opcode::store: {
      const Source& source = instruction.source;
      const Value stored = source.from_register ? state.registers[*source.from_register] : source.value;
      thread.buffer.push_back({false, instruction.location, stored});
      break;
    }
    case Opcode::load:
      state.registers[instruction.destination] = view(state, thread, instruction.location);
      break;
    case Opcode::wait:
    case Opcode::fence:
      break;
    case Opcode::compare_swap: {
      Value& target = state.memory[instruction.location];
      state.registers[instruction.destination] = target;
      if (target == instruction.expected) {
        target = instruction.operand;
      }
      break;
    }
    case Opcode::fetch_add:
      state.registers[instruction.destination] = state.memory[instruction.location];
      state.memory[instruction.location] += instruction.operand;
      break;
    case Opcode::post:
      post(state, index, instruction.operation);
      break;
    case Opcode::poll:
      --state.queues[instruction.queue].completions;
      break;
    case Opcode::receive_poll:
      --state.queues[instruction.queue].receive_completions;
      break;
  }
}

// The operation enters the store buffer; inline data is taken now, as the thread sees it.
void Machine::post(State& state, ThreadIndex index, OperationIndex number) const {
  ThreadState& thread = state.threads[index];
  const Operation& operation = program_.operations[number];
  if (operation.is_inline) {
    for (std::size_t chunk = 0; chunk < operation.chunks.size(); ++chunk) {
      state.chunks[operation.first_chunk + chunk] = {1, view(state, thread, operation.chunks[chunk].local)};
    }
  }
  thread.buffer.push_back({true, number, 0});
}

void Machine::drain(State& state, ThreadIndex index) const {
  std::vector<BufferEntry>& buffer = state.threads[index].buffer;
  const BufferEntry entry = buffer.front();
  buffer.erase(buffer.begin());
  if (entry.is_operation) {
    state.queues[program_.operations[entry.index].queue].list.push_back({entry.index, false});
  } else {
    state.memory[entry.index] = entry.value;
  }
}

void Machine::retire(State& state, QueueIndex index) const {
  QueueState& queue = state.queues[index];
  const Operation& operation = program_.operations[queue.list.front().operation];
  for (std::size_t chunk = 0; chunk < operation.chunks.size(); ++chunk) {
    state.chunks[operation.first_chunk + chunk] = {};
  }
  queue.list.erase(queue.list.begin());
  queue.to_local.push_back(kCompletion);
}

void Machine::advance(State& state, QueueIndex index, std::size_t position, std::size_t chunk) const {
  QueueState& queue = state.queues[index];
  const Operation& operation = program_.operations[queue.list[position].operation];
  const auto [local, remote] = operation.chunks[chunk];
  auto& [stage, value] = state.chunks[operation.first_chunk + chunk];
  switch (sub_action(operation.kind, stage)) {
    case SubAction::put_read:
      value = state.memory[local];
      break;
    case SubAction::put_write:
      queue.to_remote.push_back({false, remote, value});
      break;
    case SubAction::get_read:
      value = state.memory[remote];
      break;
    case SubAction::atomic_read:
      value = state.memory[remote];
      if (program_.atomics == AtomicScope::glob) {  // read and write are one step, 0→2
        write_atomic(operation, value, state.memory[remote]);
        ++stage;
      }
      break;
    case SubAction::atomic_write:
      write_atomic(operation, value, state.memory[remote]);
      break;
    case SubAction::get_result:
    case SubAction::atomic_result:
      queue.to_local.push_back({false, local, value});
      break;
  }
  ++stage;
}

}  // namespace ferry::sim::litmus
