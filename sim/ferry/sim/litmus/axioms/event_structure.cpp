#include <ferry/sim/litmus/axioms/event_structure.hpp>

#include <algorithm>

namespace ferry::sim::litmus::axioms {
namespace {

class Builder {
 public:
  Builder(const Program& program, EventStructure& out) : program_(program), out_(out) {}

  void build() {
    out_.operations.resize(program_.operations.size());
    out_.to_local.resize(program_.queues.size());
    out_.to_remote.resize(program_.queues.size());
    for (ThreadIndex thread = 0; thread < program_.threads.size(); ++thread) {
      add_thread(thread);
    }
    for (OperationIndex operation = 0; operation < program_.operations.size(); ++operation) {
      add_operation(operation);
    }
    if (out_.events.size() > kMaxEvents) {
      out_ = EventStructure(Program{});
      out_.is_too_large = true;
    }
  }

 private:
  EventIndex add(const Event& event) {
    out_.events.push_back(event);
    return out_.events.size() - 1;
  }

  void order(EventIndex before, EventIndex after) { out_.order.push_back({before, after}); }
  void access(EventIndex event, LocationIndex location, bool is_write) {
    out_.accesses.push_back({event, location, is_write});
  }

  void add_thread(ThreadIndex thread) {
    std::vector<EventIndex> executes;
    std::vector<std::optional<EventIndex>> drains;
    std::optional<EventIndex> last_drain;
    const std::vector<Instruction>& instructions = program_.threads[thread].instructions;
    for (std::size_t index = 0; index < instructions.size(); ++index) {
      const Instruction& instruction = instructions[index];
      const EventIndex execute = add({Event::Kind::execute, thread, index});
      if (!executes.empty()) {
        order(executes.back(), execute);
      }
      executes.push_back(execute);
      drains.emplace_back();
      switch (instruction.opcode) {
        case Opcode::store:
        case Opcode::post:
          drains.back() = add({Event::Kind::drain, thread, index, instruction.operation});
          order(execute, *drains.back());
          if (last_drain) {
            order(*last_drain, *drains.back());
          }
          last_drain = drains.back();
          break;
        case Opcode::fence:
        case Opcode::compare_swap:
        case Opcode::fetch_add:
          if (last_drain) {
            order(*last_drain, execute);
          }
          break;
        case Opcode::load:
        case Opcode::wait:
        case Opcode::poll:
        case Opcode::receive_poll:
          break;
      }
      add_accesses(instruction, thread, execute, drains.back());
    }
    out_.execute.push_back(std::move(executes));
    out_.drain.push_back(std::move(drains));
  }

  void add_accesses(const Instruction& instruction, ThreadIndex thread, EventIndex execute,
                    std::optional<EventIndex> drain) {
    switch (instruction.opcode) {
      case Opcode::store:
        access(*drain, instruction.location, true);
        break;
      case Opcode::load:
      case Opcode::wait:
        access(execute, instruction.location, false);
        break;
      case Opcode::compare_swap:
      case Opcode::fetch_add:
        access(execute, instruction.location, true);
        break;
      case Opcode::post: {
        const Operation& operation = program_.operations[instruction.operation];
        for (const Chunk& chunk : operation.chunks) {
          if (operation.is_inline) {
            access(execute, chunk.local, false);
          }
        }
        out_.operations[instruction.operation].thread = thread;
        out_.operations[instruction.operation].post = *drain;
        break;
      }
      case Opcode::fence:
      case Opcode::poll:
      case Opcode::receive_poll:
        break;
    }
  }

  void add_operation(OperationIndex index) {
    const Operation& operation = program_.operations[index];
    OperationEvents& its = out_.operations[index];
    const bool is_put = operation.kind == OperationKind::put;
    for (std::size_t number = 0; number < operation.chunks.size(); ++number) {
      const Chunk& chunk = operation.chunks[number];
      ChunkEvents events;
      EventIndex last = its.post;
      const auto next = [&](Event::Kind kind) {
        const EventIndex event = add({kind, 0, 0, index, number});
        order(last, event);
        return last = event;
      };
      if (!operation.is_inline) {
        events.read = next(Event::Kind::read);
        const bool is_write = is_atomic(operation.kind) && program_.atomics == AtomicScope::glob;
        access(*events.read, is_put ? chunk.local : chunk.remote, is_write);
      }
      if (is_atomic(operation.kind) && program_.atomics == AtomicScope::hca) {
        events.update = next(Event::Kind::update);
        access(*events.update, chunk.remote, true);
      }
      events.send = next(Event::Kind::send);
      events.land = next(Event::Kind::land);
      const LocationIndex target = is_put ? chunk.remote : chunk.local;
      access(events.land, target, true);
      (is_put ? out_.to_remote : out_.to_local)[operation.queue].push_back({events.send, events.land, target});
      its.chunks.push_back(events);
    }
    add_completions(operation, its);
  }

  void add_completions(const Operation& operation, OperationEvents& its) {
    its.retire = add({});
    its.completion_land = add({});
    order(its.retire, its.completion_land);
    out_.to_local[operation.queue].push_back({its.retire, its.completion_land, std::nullopt});
    if (operation.has_immediate) {
      its.immediate = add({});
      its.immediate_land = add({});
      order(*its.immediate, *its.immediate_land);
      order(*its.immediate, its.retire);
      out_.to_remote[operation.queue].push_back({*its.immediate, *its.immediate_land, std::nullopt});
    }
    for (const ChunkEvents& chunk : its.chunks) {
      order(chunk.send, its.retire);
      if (its.immediate) {
        order(chunk.send, *its.immediate);
      }
    }
  }

  const Program& program_;
  EventStructure& out_;
};

}  // namespace

EventStructure::EventStructure(const Program& program) {
  Builder(program, *this).build();
}

}  // namespace ferry::sim::litmus::axioms
