#include <ferry/sim/litmus/axioms/execution_values.hpp>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

namespace ferry::sim::litmus::axioms {
namespace {

class Evaluation {
 public:
  Evaluation(const Program& program, const EventStructure& structure, const PartialOrder& order)
      : program_(program), structure_(structure), order_(order) {
    for (const Location& location : program.locations) {
      outcome_.memory.push_back(location.initial);
    }
    outcome_.registers.resize(program.registers.size());
    for (const Operation& operation : program.operations) {
      chunks_.emplace_back(operation.chunks.size());
    }
  }

  std::optional<Outcome> run() {
    std::vector<EventIndex> line(structure_.events.size());
    std::iota(line.begin(), line.end(), EventIndex{0});
    std::sort(line.begin(), line.end(), [&](EventIndex one, EventIndex other) {
      return std::pair(order_.successors(other), one) < std::pair(order_.successors(one), other);
    });
    for (const EventIndex event : line) {
      if (!evaluate(structure_.events[event], event)) {
        return std::nullopt;
      }
    }
    return std::move(outcome_);
  }

 private:
  // False where a wait does not see its value.
  bool evaluate(const Event& event, EventIndex index) {
    switch (event.kind) {
      case Event::Kind::execute:
        return execute(event, program_.threads[event.thread].instructions[event.instruction], index);
      case Event::Kind::drain:
        if (const auto& store = program_.threads[event.thread].instructions[event.instruction];
            store.opcode == Opcode::store) {
          outcome_.memory[store.location] = stores_[{event.thread, event.instruction}];
        }
        return true;
      case Event::Kind::read: {
        const Operation& operation = program_.operations[event.operation];
        const Chunk& chunk = operation.chunks[event.chunk];
        Value& source = outcome_.memory[operation.kind == OperationKind::put ? chunk.local : chunk.remote];
        value_of(event) = source;
        if (is_atomic(operation.kind) && program_.atomics == AtomicScope::glob) {
          update(operation, value_of(event), source);
        }
        return true;
      }
      case Event::Kind::update: {
        const Operation& operation = program_.operations[event.operation];
        update(operation, value_of(event), outcome_.memory[operation.chunks[event.chunk].remote]);
        return true;
      }
      case Event::Kind::land: {
        const Operation& operation = program_.operations[event.operation];
        const Chunk& chunk = operation.chunks[event.chunk];
        outcome_.memory[operation.kind == OperationKind::put ? chunk.remote : chunk.local] = value_of(event);
        return true;
      }
      case Event::Kind::send:
      case Event::Kind::other:
        return true;
    }
    return true;
  }

  bool execute(const Event& event, const Instruction& instruction, EventIndex index) {
    switch (instruction.opcode) {
      case Opcode::store:
        stores_[{event.thread, event.instruction}] = value_of(instruction.source);
        return true;
      case Opcode::load:
        outcome_.registers[instruction.destination] = seen(event, instruction.location, index);
        return true;
      case Opcode::wait:
        return seen(event, instruction.location, index) == value_of(instruction.source);
      case Opcode::compare_swap: {
        Value& location = outcome_.memory[instruction.location];
        outcome_.registers[instruction.destination] = location;
        location = location == instruction.expected ? instruction.operand : location;
        return true;
      }
      case Opcode::fetch_add: {
        Value& location = outcome_.memory[instruction.location];
        outcome_.registers[instruction.destination] = std::exchange(location, location + instruction.operand);
        return true;
      }
      case Opcode::post: {
        const Operation& operation = program_.operations[instruction.operation];
        for (std::size_t chunk = 0; operation.is_inline && chunk < operation.chunks.size(); ++chunk) {
          chunks_[instruction.operation][chunk] = seen(event, operation.chunks[chunk].local, index);
        }
        return true;
      }
      case Opcode::fence:
      case Opcode::poll:
      case Opcode::receive_poll:
        return true;
    }
    return true;
  }

  // The last store before it in its thread, if that has not reached memory yet; else memory.
  Value seen(const Event& reader, LocationIndex location, EventIndex index) {
    for (std::size_t before = reader.instruction; before-- > 0;) {
      const Instruction& store = program_.threads[reader.thread].instructions[before];
      if (store.opcode == Opcode::store && store.location == location) {
        const bool is_buffered = order_.is_before(index, *structure_.drain[reader.thread][before]);
        return is_buffered ? stores_[{reader.thread, before}] : outcome_.memory[location];
      }
    }
    return outcome_.memory[location];
  }

  static void update(const Operation& operation, Value old, Value& target) {
    if (operation.kind == OperationKind::fetch_add) {
      target = old + operation.operand;
    } else if (old == operation.expected) {
      target = operation.operand;
    }
  }

  Value value_of(const Source& source) const {
    return source.from_register ? outcome_.registers[*source.from_register] : source.value;
  }

  Value& value_of(const Event& event) { return chunks_[event.operation][event.chunk]; }

  const Program& program_;
  const EventStructure& structure_;
  const PartialOrder& order_;
  Outcome outcome_;
  std::map<std::pair<ThreadIndex, std::size_t>, Value> stores_;  // by thread and instruction
  std::vector<std::vector<Value>> chunks_;                       // what each chunk has read
};

}  // namespace

std::optional<Outcome> outcome_of(const Program& program, const EventStructure& structure, const PartialOrder& order) {
  return Evaluation(program, structure, order).run();
}

}  // namespace ferry::sim::litmus::axioms
