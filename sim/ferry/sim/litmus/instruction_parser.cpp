#include <ferry/sim/litmus/instruction_parser.hpp>

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <ferry/sim/litmus/limits.hpp>

namespace ferry::sim::litmus {
namespace {

struct Mnemonic {
  std::string_view name;
  Opcode opcode;
  OperationKind kind = OperationKind::put;  // of a post
  std::string_view flags = "";              // that may follow it
};

constexpr std::array<Mnemonic, 12> kTable = {{
    {"st", Opcode::store},
    {"ld", Opcode::load},
    {"wait", Opcode::wait},
    {"mf", Opcode::fence},
    {"cas", Opcode::compare_swap},
    {"faa", Opcode::fetch_add},
    {"put", Opcode::post, OperationKind::put, ".fence, .imm or .inline"},
    {"get", Opcode::post, OperationKind::get, ".fence"},
    {"rfaa", Opcode::post, OperationKind::fetch_add, ".fence"},
    {"rcas", Opcode::post, OperationKind::compare_swap, ".fence"},
    {"poll", Opcode::poll},
    {"rpoll", Opcode::receive_poll},
}};

const Mnemonic* find_mnemonic(std::string_view word) noexcept {
  const std::string_view name = word.substr(0, word.find('.'));
  const auto* found =
      std::find_if(kTable.begin(), kTable.end(), [&](const Mnemonic& each) { return each.name == name; });
  return found == kTable.end() ? nullptr : found;
}

class InstructionParser {
 public:
  InstructionParser(LineReader& reader, TestNames& names, Program& program, ThreadIndex thread)
      : reader_(reader), names_(names), program_(program), thread_(thread) {}

  void parse() {
    const std::string_view word = reader_.word("MNEMONIC or MNEMONIC.FLAG");
    if (reader_.is_refused()) {
      return;
    }
    const Mnemonic& mnemonic = *find_mnemonic(word);
    Instruction instruction;
    instruction.opcode = mnemonic.opcode;
    Operation operation;
    operation.kind = mnemonic.kind;
    take_flags(word.substr(mnemonic.name.size()), mnemonic, operation);
    take_operands(instruction, operation);
    reader_.require_end("the end of the line");
    if (reader_.is_refused()) {
      return;
    }
    if (instruction.opcode == Opcode::post) {
      instruction.operation = static_cast<OperationIndex>(program_.operations.size());
      instruction.queue = operation.queue;
      operation.first_chunk = static_cast<ChunkIndex>(program_.chunks());
      program_.operations.push_back(std::move(operation));
    }
    program_.threads[thread_].instructions.push_back(instruction);
  }

 private:
  void take_flags(std::string_view flags, const Mnemonic& mnemonic, Operation& operation) {
    while (!flags.empty()) {
      const std::string_view flag = flags.substr(0, flags.find('.', 1));
      flags.remove_prefix(flag.size());
      const bool is_put = mnemonic.opcode == Opcode::post && mnemonic.kind == OperationKind::put;
      bool* taken = nullptr;
      if (flag == ".fence" && mnemonic.opcode == Opcode::post) {
        taken = &operation.is_fenced;
      } else if (flag == ".imm" && is_put) {
        taken = &operation.has_immediate;
      } else if (flag == ".inline" && is_put) {
        taken = &operation.is_inline;
      }
      if (taken == nullptr) {
        reader_.refuse(fmt::format("the flag {} of {}", quoted(flag), mnemonic.name),
                       mnemonic.flags.empty() ? std::string("no flag") : std::string(mnemonic.flags));
      } else if (*taken) {
        reader_.refuse(fmt::format("the flag {} a second time", quoted(flag)), "each flag at most once");
      } else {
        *taken = true;
      }
    }
  }

  void take_operands(Instruction& instruction, Operation& operation) {
    switch (instruction.opcode) {
      case Opcode::store:
        instruction.location = own_location("the location to store to");
        instruction.source = source("the value to store");
        break;
      case Opcode::load:
        take_destination(instruction);
        instruction.location = own_location("the location to load");
        break;
      case Opcode::wait:
        instruction.location = own_location("the location to wait for");
        instruction.source = source("the value to wait for");
        break;
      case Opcode::fence:
        break;
      case Opcode::compare_swap:
        take_destination(instruction);
        instruction.location = own_location("the location to compare and swap");
        instruction.expected = reader_.integer("EXPECTED, an unsigned integer");
        instruction.operand = reader_.integer("DESIRED, an unsigned integer");
        break;
      case Opcode::fetch_add:
        take_destination(instruction);
        instruction.location = own_location("the location to add to");
        instruction.operand = reader_.integer("N, an unsigned integer");
        break;
      case Opcode::post:
        take_operation(operation);
        break;
      case Opcode::poll:
      case Opcode::receive_poll:
        instruction.queue = queue_at(instruction.opcode == Opcode::poll);
        break;
    }
    declare_destination(instruction);
  }

  NodeIndex node() const { return program_.threads[thread_].node; }

  LocationIndex own_location(std::string_view role) { return names_.location_on(reader_, program_, node(), role); }

  // The queue's first node is where operations are posted and polled, its second where receive completions are.
  QueueIndex queue_at(bool at_first_node) {
    const std::string_view name = reader_.peek().text;
    const QueueIndex index = names_.queue(reader_);
    if (reader_.is_refused()) {
      return 0;
    }
    const Queue& queue = program_.queues[index];
    if ((at_first_node ? queue.from : queue.to) != node()) {
      reader_.refuse(fmt::format("queue {} from {} to {} in thread {} on {}", name, program_.nodes[queue.from],
                                 program_.nodes[queue.to], program_.threads[thread_].name, program_.nodes[node()]),
                     fmt::format("a queue {} {}", at_first_node ? "from" : "to", program_.nodes[node()]));
    }
    return index;
  }

  void take_operation(Operation& operation) {
    operation.queue = queue_at(true);
    if (reader_.is_refused()) {
      return;
    }
    const Queue& queue = program_.queues[operation.queue];
    do {
      if (operation.chunks.size() == kMaxChunks) {
        reader_.refuse("one chunk more", fmt::format("at most {} chunks in an operation", kMaxChunks));
        return;
      }
      Chunk chunk;
      if (operation.kind == OperationKind::put) {
        chunk.remote = names_.location_on(reader_, program_, queue.to, "REMOTE");
        reader_.require("<-", "<-");
        chunk.local = names_.location_on(reader_, program_, queue.from, "LOCAL");
      } else {
        chunk.local = names_.location_on(reader_, program_, queue.from, "LOCAL");
        reader_.require("<-", "<-");
        chunk.remote = names_.location_on(reader_, program_, queue.to, "REMOTE");
      }
      operation.chunks.push_back(chunk);
    } while (!is_atomic(operation.kind) && reader_.accept(","));
    if (operation.kind == OperationKind::fetch_add) {
      reader_.require("+", "+");
      operation.operand = reader_.integer("N, an unsigned integer");
    } else if (operation.kind == OperationKind::compare_swap) {
      reader_.require(":", ":");
      operation.expected = reader_.integer("EXPECTED, an unsigned integer");
      reader_.require("->", "->");
      operation.operand = reader_.integer("DESIRED, an unsigned integer");
    }
  }

  Source source(std::string_view role) {
    Source source;
    if (reader_.peek().kind != Token::Kind::word) {
      source.value = reader_.integer(fmt::format("{}, an unsigned integer or a register written before", role));
      return source;
    }
    const std::string_view name = reader_.name("a register");
    source.from_register = TestNames::find(names_.registers, key(name));
    if (!source.from_register && !reader_.is_refused()) {
      reader_.refuse(fmt::format("register {}, which the thread has not written before", quoted(name)),
                     fmt::format("{}, an unsigned integer or a register written before", role));
    }
    return source;
  }

  void take_destination(Instruction& instruction) {
    destination_ = reader_.name("REG, the register that gets the value");
    const auto found = TestNames::find(names_.registers, key(destination_));
    instruction.destination = found.value_or(static_cast<RegisterIndex>(program_.registers.size()));
  }

  // Last, so that an instruction cannot read the register that it is the first to write.
  void declare_destination(const Instruction& instruction) {
    if (!destination_.empty() && names_.registers.emplace(key(destination_), instruction.destination).second) {
      program_.registers.push_back({std::string(destination_), thread_});
    }
  }

  std::string key(std::string_view name) const { return fmt::format("{}:{}", program_.threads[thread_].name, name); }

  LineReader& reader_;
  TestNames& names_;
  Program& program_;
  ThreadIndex thread_;
  std::string_view destination_;  // empty where the instruction writes no register
};

}  // namespace

bool is_instruction(std::string_view word) noexcept {
  return find_mnemonic(word) != nullptr;
}

void parse_instruction(LineReader& reader, TestNames& names, Program& program, ThreadIndex thread) {
  InstructionParser(reader, names, program, thread).parse();
}

}  // namespace ferry::sim::litmus
