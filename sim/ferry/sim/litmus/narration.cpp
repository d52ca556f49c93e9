#include <ferry/sim/litmus/narration.hpp>

#include <deque>
#include <utility>

#include <fmt/format.h>

#include <ferry/sim/litmus/lane_plan.hpp>
#include <ferry/sim/litmus/program_text.hpp>

namespace ferry::sim::litmus {
namespace {

class Narrator {
 public:
  explicit Narrator(const Machine& machine)
      : machine_(machine), program_(machine.program()), lanes_(machine.program()) {
    state_ = machine.initial();
    buffers_.resize(program_.threads.size());
    to_local_.resize(program_.queues.size());
    to_remote_.resize(program_.queues.size());
  }

  Narration narrate(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      out_.events.push_back(event_of(step));
      machine_.take(state_, step);
    }
    out_.nodes = program_.nodes;
    out_.lanes = lanes_.all();
    return std::move(out_);
  }

 private:
  using EventNumber = std::size_t;

  Event event_of(const Step& step) {
    switch (step.kind) {
      case Step::Kind::execute:
        return execute(step.actor);
      case Step::Kind::drain:
        return drain(step.actor);
      case Step::Kind::advance:
        return advance(step);
      case Step::Kind::immediate: {
        to_remote_[step.actor].push_back(out_.events.size());
        const std::string operation = text_of(state_.queues[step.actor].list[step.position].operation);
        return {Event::Kind::local,
                lanes_.queue[step.actor],
                {},
                {},
                "immediate",
                operation + ": its receive completion sets out"};
      }
      case Step::Kind::retire: {
        to_local_[step.actor].push_back(out_.events.size());
        const std::string operation = text_of(state_.queues[step.actor].list.front().operation);
        return {Event::Kind::local,
                lanes_.queue[step.actor],
                {},
                {},
                "done",
                operation + " is done: its completion sets out"};
      }
      case Step::Kind::commit_local:
        return commit(state_.queues[step.actor].to_local[step.position], to_local_[step.actor], step,
                      program_.queues[step.actor].from, "completion");
      case Step::Kind::commit_remote:
        return commit(state_.queues[step.actor].to_remote[step.position], to_remote_[step.actor], step,
                      program_.queues[step.actor].to, "receive completion");
    }
    return {};
  }

  Event execute(ThreadIndex index) {
    const ThreadState& thread = state_.threads[index];
    const Instruction& instruction = program_.threads[index].instructions[thread.next];
    const LaneIndex lane = lanes_.thread[index];
    const LaneIndex memory = lanes_.memory[program_.threads[index].node];
    const std::string text = to_text(program_, instruction);
    const auto polled = [&](std::string_view what) {
      return Event{Event::Kind::completion, lane, memory, {}, text, fmt::format("{} takes a {}", text, what)};
    };
    switch (instruction.opcode) {
      case Opcode::store: {
        buffers_[index].push_back(out_.events.size());
        return {Event::Kind::local, lane, {}, {}, text, text + " enters the store buffer"};
      }
      case Opcode::post:
        buffers_[index].push_back(out_.events.size());
        return {
            Event::Kind::local, lane, {}, {}, short_text(instruction.operation), text + post_note(index, instruction)};
      case Opcode::load: {
        const Value value = view(state_, thread, instruction.location);
        const std::string name = program_.registers[instruction.destination].name;
        if (is_buffered(thread, instruction.location)) {
          return {Event::Kind::local,
                  lane,
                  {},
                  {},
                  fmt::format("{} = {}", name, value),
                  fmt::format("{} sees {} in its own store buffer", text, value)};
        }
        return {Event::Kind::read,
                lane,
                memory,
                {},
                fmt::format("{} = {}", name, value),
                fmt::format("{} reads {} from memory", text, value)};
      }
      case Opcode::wait: {
        const bool from_buffer = is_buffered(thread, instruction.location);
        return {from_buffer ? Event::Kind::local : Event::Kind::read,
                lane,
                from_buffer ? std::nullopt : std::optional(memory),
                {},
                text,
                text + " goes on"};
      }
      case Opcode::fence:
        return {Event::Kind::local, lane, {}, {}, text, "mf goes on: the store buffer is empty"};
      case Opcode::compare_swap: {
        const Value old = state_.memory[instruction.location];
        const std::string effect =
            old == instruction.expected ? fmt::format("writes {}", instruction.operand) : std::string("writes nothing");
        return {Event::Kind::write, memory, lane, {}, text, fmt::format("{} finds {} and {}", text, old, effect)};
      }
      case Opcode::fetch_add: {
        const Value old = state_.memory[instruction.location];
        return {Event::Kind::write,
                memory,
                lane,
                {},
                text,
                fmt::format("{} finds {} and writes {}", text, old, old + instruction.operand)};
      }
      case Opcode::poll:
        return polled("completion");
      case Opcode::receive_poll:
        return polled("receive completion");
    }
    return {};
  }

  Event drain(ThreadIndex index) {
    const BufferEntry& entry = state_.threads[index].buffer.front();
    const EventNumber departure = buffers_[index].front();
    buffers_[index].pop_front();
    if (entry.is_operation) {
      return {Event::Kind::post,
              lanes_.queue[program_.operations[entry.index].queue],
              {},
              departure,
              "posted",
              fmt::format("{} leaves the store buffer for its queue", text_of(entry.index))};
    }
    const std::string written = assignment(entry.index, entry.value);
    return {Event::Kind::write,
            lanes_.memory[program_.threads[index].node],
            {},
            departure,
            written,
            written + " leaves the store buffer and reaches memory"};
  }

  // Appends to a list of writes on their way to memory.
  Event send(std::deque<EventNumber>& on_their_way, LaneIndex lane, const std::string& operation,
             const std::string& written) {
    on_their_way.push_back(out_.events.size());
    return {Event::Kind::local,
            lane,
            {},
            {},
            "sends " + written,
            fmt::format("{} sends {} toward memory", operation, written)};
  }

  Event advance(const Step& step) {
    const Queue& queue = program_.queues[step.actor];
    const OperationIndex number = state_.queues[step.actor].list[step.position].operation;
    const Operation& operation = program_.operations[number];
    const auto [stage, value] = chunks_of(state_, operation)[step.chunk];
    const auto [local, remote] = operation.chunks[step.chunk];
    const LaneIndex lane = lanes_.queue[step.actor];
    const std::string text = text_of(number);
    const SubAction action = sub_action(operation.kind, stage);
    switch (action) {
      case SubAction::put_read:
      case SubAction::get_read:
      case SubAction::atomic_read: {
        const LocationIndex location = action == SubAction::put_read ? local : remote;
        const std::string read = assignment(location, state_.memory[location]);
        Event event{Event::Kind::read,
                    lane,
                    lanes_.memory[action == SubAction::put_read ? queue.from : queue.to],
                    {},
                    read,
                    fmt::format("{} reads {}", text, read)};
        if (action == SubAction::atomic_read && program_.atomics == AtomicScope::glob) {
          event.kind = Event::Kind::write;
          event.sentence += " and " + atomic_effect(operation, state_.memory[location]) + " in the same step";
        }
        return event;
      }
      case SubAction::atomic_write:
        return {Event::Kind::write,
                lanes_.memory[queue.to],
                lane,
                {},
                atomic_label(operation, value),
                fmt::format("{} {}", text, atomic_effect(operation, value))};
      case SubAction::put_write:
        return send(to_remote_[step.actor], lane, text, assignment(remote, value));
      case SubAction::get_result:
      case SubAction::atomic_result:
        return send(to_local_[step.actor], lane, text, assignment(local, value));
    }
    return {};
  }

  Event commit(const WriteBack& entry, std::deque<EventNumber>& departures, const Step& step, NodeIndex node,
               std::string_view completion) {
    const auto at = departures.begin() + step.position;
    const EventNumber departure = *at;
    departures.erase(at);
    if (entry.is_completion) {
      return {Event::Kind::completion,
              lanes_.memory[node],
              {},
              departure,
              fmt::format("{} of {}", completion, program_.queues[step.actor].name),
              fmt::format("a {} of {} is delivered", completion, program_.queues[step.actor].name)};
    }
    const std::string written = assignment(entry.location, entry.value);
    return {Event::Kind::write, lanes_.memory[node], {}, departure, written, written + " reaches memory"};
  }

  std::string assignment(LocationIndex location, Value value) const {
    return fmt::format("{} = {}", location_name(program_, location), value);
  }

  std::string text_of(OperationIndex operation) const { return to_text(program_, program_.operations[operation]); }

  // "put.fence q": the sentence beside it has the rest.
  std::string short_text(OperationIndex operation) const {
    const std::string text = text_of(operation);
    return text.substr(0, text.find(' ', text.find(' ') + 1));
  }

  std::string post_note(ThreadIndex index, const Instruction& instruction) const {
    std::string note = " enters the store buffer";
    const Operation& operation = program_.operations[instruction.operation];
    for (const Chunk& chunk : operation.chunks) {
      if (operation.is_inline) {
        note += ", taking " + assignment(chunk.local, view(state_, state_.threads[index], chunk.local));
      }
    }
    return note;
  }

  bool is_buffered(const ThreadState& thread, LocationIndex location) const {
    for (const BufferEntry& entry : thread.buffer) {
      if (!entry.is_operation && entry.index == location) {
        return true;
      }
    }
    return false;
  }

  static bool does_write(const Operation& operation, Value old) {
    return operation.kind == OperationKind::fetch_add || old == operation.expected;
  }

  std::string atomic_effect(const Operation& operation, Value old) const {
    return does_write(operation, old) ? "writes " + atomic_label(operation, old) : "writes nothing";
  }

  std::string atomic_label(const Operation& operation, Value old) const {
    if (!does_write(operation, old)) {
      return "no write";
    }
    const bool adds = operation.kind == OperationKind::fetch_add;
    return assignment(operation.chunks.front().remote, adds ? old + operation.operand : operation.operand);
  }

  const Machine& machine_;
  const Program& program_;
  State state_;
  Narration out_;
  const LanePlan lanes_;
  // Of what is under way in the state: the events in which it set out, in the state's order.
  std::vector<std::deque<EventNumber>> buffers_, to_local_, to_remote_;
};

}  // namespace

Narration narrate(const Machine& machine, const std::vector<Step>& steps) {
  return Narrator(machine).narrate(steps);
}

std::string to_text(const Program& program, const Outcome& outcome) {
  std::string out;
  for (LocationIndex index = 0; index < program.locations.size(); ++index) {
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", location_name(program, index), outcome.memory[index]);
  }
  for (RegisterIndex index = 0; index < program.registers.size(); ++index) {
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", register_name(program, index), outcome.registers[index]);
  }
  return out;
}

}  // namespace ferry::sim::litmus
