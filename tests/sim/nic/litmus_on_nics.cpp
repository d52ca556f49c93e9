#include "litmus_on_nics.hpp"

#include <algorithm>

#include "nic_rig.hpp"

namespace ferry::sim::litmus {
namespace {

using queue::Verb;
using test::End;
using test::Host;

class Player final : private StepObserver {
 public:
  Player(const Program& program, const FabricOptions& options, ChoiceSource& choices)
      : program_(program), scheduler_(choices, 100'000), network_(scheduler_, options) {
    for (std::size_t node = 0; node < program.nodes.size(); ++node) {
      hosts_.push_back(std::make_unique<Host>(network_, static_cast<std::uint32_t>(node + 1)));
    }
    for (LocationIndex index = 0; index < program.locations.size(); ++index) {
      word(index) = program.locations[index].initial;
    }
    for (const Queue& queue : program.queues) {
      connect(*hosts_[queue.from], *hosts_[queue.to]);
    }
    registers_.resize(program.registers.size());
    inlined_.resize(program.operations.size());
    for (ThreadIndex index = 0; index < program.threads.size(); ++index) {
      threads_.push_back(std::make_unique<Running>(this, index));
    }
  }
  ~Player() {
    scheduler_.close();
    for (auto& queue : queues_) {
      queue->near.pair.reset();
      queue->far.pair.reset();
    }
  }

  std::optional<Outcome> run() {
    scheduler_.observe(this);
    after_step();
    scheduler_.run(nullptr);
    Outcome outcome;
    for (ThreadIndex index = 0; index < program_.threads.size(); ++index) {
      if (threads_[index]->next != program_.threads[index].instructions.size()) {
        return std::nullopt;
      }
    }
    for (const auto& queue : queues_) {
      for (const auto& completion : queue->near.ended) {
        if (completion.status != queue::WorkStatus::success) {
          return std::nullopt;
        }
      }
    }
    for (LocationIndex index = 0; index < program_.locations.size(); ++index) {
      outcome.memory.push_back(word(index));
    }
    outcome.registers = registers_;
    return outcome;
  }

 private:
  static constexpr std::size_t kReceives = 64;
  static constexpr std::uint64_t kThinkingTimes =
      12;  // of a thread before an instruction: none, or up to 128 latencies

  struct Connected {
    End near;  // the initiator's
    End far;
    std::size_t polled = 0;
    std::size_t receives_polled = 0;
  };
  struct Running : sim::Step {
    Running(Player* owner, ThreadIndex index) noexcept : sim::Step(&Player::execute), player(owner), thread(index) {}
    Player* player;
    ThreadIndex thread;
    std::size_t next = 0;
  };

  void connect(Host& from, Host& to) {
    queues_.push_back(std::make_unique<Connected>());
    Connected& made = *queues_.back();
    made.near.pair = from.nic().create_queue_pair({}, made.near).value();
    made.far.pair = to.nic().create_queue_pair({}, made.far).value();
    made.near.pair->connect(made.far.pair->address()).value();
    made.far.pair->connect(made.near.pair->address()).value();
    for (std::size_t count = 0; count < kReceives; ++count) {
      made.far.pair->post_receive(count, nullptr, 0, 0).value();
    }
  }

  Value& word(LocationIndex index) { return hosts_[program_.locations[index].node]->words[index]; }
  std::byte* address(LocationIndex index) { return hosts_[program_.locations[index].node]->at(index); }

  // Every thread whose next instruction can be executed may be the one that does.
  void after_step() override {
    for (const auto& thread : threads_) {
      if (!thread->is_scheduled() && can_execute(*thread)) {
        const auto thinks = scheduler_.choose(ChoiceKind::latency, kThinkingTimes, thread->thread);
        scheduler_.schedule(*thread, StepKind::job, ProcessNumber(thread->thread + 100U), 0,
                            network_.options().latency * ((std::int64_t{1} << thinks) / 16));
      }
    }
  }

  bool can_execute(const Running& at) {
    const auto& instructions = program_.threads[at.thread].instructions;
    if (at.next == instructions.size()) {
      return false;
    }
    const Instruction& instruction = instructions[at.next];
    switch (instruction.opcode) {
      case Opcode::wait:
        return word(instruction.location) == value_of(instruction.source);
      case Opcode::poll:
        return queues_[instruction.queue]->near.ended.size() > queues_[instruction.queue]->polled;
      case Opcode::receive_poll:
        return queues_[instruction.queue]->far.received.size() > queues_[instruction.queue]->receives_polled;
      default:
        return true;
    }
  }

  Value value_of(const Source& source) const {
    return source.from_register ? registers_[*source.from_register] : source.value;
  }

  static void execute(sim::Step& step) noexcept {
    auto& at = static_cast<Running&>(step);
    Player& self = *at.player;
    if (!self.can_execute(at)) {
      return;  // it could when it was scheduled
    }
    const Instruction& instruction = self.program_.threads[at.thread].instructions[at.next++];
    switch (instruction.opcode) {
      case Opcode::store:
        self.word(instruction.location) = self.value_of(instruction.source);
        return;
      case Opcode::load:
        self.registers_[instruction.destination] = self.word(instruction.location);
        return;
      case Opcode::compare_swap: {
        Value& word = self.word(instruction.location);
        self.registers_[instruction.destination] = word;
        word = word == instruction.expected ? instruction.operand : word;
        return;
      }
      case Opcode::fetch_add: {
        Value& word = self.word(instruction.location);
        self.registers_[instruction.destination] = word;
        word += instruction.operand;
        return;
      }
      case Opcode::post:
        self.post(instruction.operation);
        return;
      case Opcode::poll:
        ++self.queues_[instruction.queue]->polled;
        return;
      case Opcode::receive_poll:
        ++self.queues_[instruction.queue]->receives_polled;
        return;
      case Opcode::wait:
      case Opcode::fence:
        return;
    }
  }

  void post(OperationIndex index) {
    const Operation& operation = program_.operations[index];
    const LocationIndex local = operation.chunks.front().local;
    const LocationIndex remote = operation.chunks.front().remote;
    const Host& owner = *hosts_[program_.locations[remote].node];
    queue::WorkRequest request{.id = index,
                               .verb = operation.kind == OperationKind::put         ? Verb::put
                                       : operation.kind == OperationKind::get       ? Verb::get
                                       : operation.kind == OperationKind::fetch_add ? Verb::fetch_add
                                                                                    : Verb::compare_swap,
                               .fenced = operation.is_fenced,
                               .has_immediate = operation.has_immediate,
                               .local = address(local),
                               .length = operation.chunks.size() * sizeof(Value),
                               .remote = owner.remote(remote),
                               .operand = operation.operand,
                               .expected = operation.expected};
    if (operation.is_inline) {
      for (const Chunk& chunk : operation.chunks) {
        inlined_[index].push_back(word(chunk.local));
      }
      request.local = reinterpret_cast<std::byte*>(inlined_[index].data());
    }
    queues_[operation.queue]->near.pair->post(std::span(&request, 1)).value();
  }

  const Program& program_;
  Scheduler scheduler_;
  Network network_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<std::unique_ptr<Connected>> queues_;
  std::vector<std::unique_ptr<Running>> threads_;
  std::vector<Value> registers_;
  std::vector<std::vector<Value>> inlined_;  // by operation
};

}  // namespace

bool is_playable(const Program& program) {
  return std::all_of(program.operations.begin(), program.operations.end(), [](const Operation& operation) {
    const Chunk& first = operation.chunks.front();
    for (std::size_t index = 0; index < operation.chunks.size(); ++index) {
      if (operation.chunks[index].local != first.local + index ||
          operation.chunks[index].remote != first.remote + index) {
        return false;
      }
    }
    return true;
  });
}

std::optional<Outcome> play(const Program& program, const FabricOptions& options, ChoiceSource& choices) {
  return Player(program, options, choices).run();
}

}  // namespace ferry::sim::litmus
