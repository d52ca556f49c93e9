#include <ferry/sim/litmus/program_text.hpp>

#include <string_view>

#include <fmt/format.h>

namespace ferry::sim::litmus {
namespace {

using Connective = Condition::Connective;

std::string text_of(const Program& program, const Source& source) {
  return source.from_register ? program.registers[*source.from_register].name : fmt::format("{}", source.value);
}

std::string text_of(const Program& program, const Term& term) {
  switch (term.kind) {
    case Term::Kind::location:
      return location_name(program, term.index);
    case Term::Kind::register_value:
      return register_name(program, term.index);
    case Term::Kind::integer:
      break;
  }
  return fmt::format("{}", term.value);
}

// Looser connectives inside tighter ones need parentheses; | is the loosest.
int tightness(Connective connective) noexcept {
  switch (connective) {
    case Connective::disjunction:
      return 0;
    case Connective::conjunction:
      return 1;
    case Connective::negation:
      return 2;
    default:
      return 3;
  }
}

}  // namespace

std::string to_text(const Program& program, const Operation& operation) {
  std::string out;
  switch (operation.kind) {
    case OperationKind::put:
      out = "put";
      break;
    case OperationKind::get:
      out = "get";
      break;
    case OperationKind::fetch_add:
      out = "rfaa";
      break;
    case OperationKind::compare_swap:
      out = "rcas";
      break;
  }
  out += operation.is_fenced ? ".fence" : "";
  out += operation.has_immediate ? ".imm" : "";
  out += operation.is_inline ? ".inline" : "";
  out += " " + program.queues[operation.queue].name;
  std::string_view separator = " ";
  for (const Chunk& chunk : operation.chunks) {
    const std::string local = location_name(program, chunk.local);
    const std::string remote = location_name(program, chunk.remote);
    const bool is_put = operation.kind == OperationKind::put;
    out += fmt::format("{}{} <- {}", separator, is_put ? remote : local, is_put ? local : remote);
    separator = ", ";
  }
  if (operation.kind == OperationKind::fetch_add) {
    out += fmt::format(" + {}", operation.operand);
  } else if (operation.kind == OperationKind::compare_swap) {
    out += fmt::format(" : {} -> {}", operation.expected, operation.operand);
  }
  return out;
}

std::string to_text(const Program& program, const Instruction& instruction) {
  const auto location = [&] { return location_name(program, instruction.location); };
  const auto destination = [&] { return program.registers[instruction.destination].name; };
  switch (instruction.opcode) {
    case Opcode::store:
      return fmt::format("st {} {}", location(), text_of(program, instruction.source));
    case Opcode::load:
      return fmt::format("ld {} {}", destination(), location());
    case Opcode::wait:
      return fmt::format("wait {} {}", location(), text_of(program, instruction.source));
    case Opcode::fence:
      return "mf";
    case Opcode::compare_swap:
      return fmt::format("cas {} {} {} {}", destination(), location(), instruction.expected, instruction.operand);
    case Opcode::fetch_add:
      return fmt::format("faa {} {} {}", destination(), location(), instruction.operand);
    case Opcode::post:
      return to_text(program, program.operations[instruction.operation]);
    case Opcode::poll:
      return "poll " + program.queues[instruction.queue].name;
    case Opcode::receive_poll:
      return "rpoll " + program.queues[instruction.queue].name;
  }
  return {};
}

std::string to_text(const Program& program, const Condition& question) {
  std::vector<std::string> texts;
  const auto inside = [&](std::uint16_t child, Connective parent) {
    const bool needs = tightness(question.nodes[child].connective) < tightness(parent);
    return needs ? "(" + texts[child] + ")" : texts[child];
  };
  for (const Condition::Node& node : question.nodes) {
    switch (node.connective) {
      case Connective::equal:
        texts.push_back(text_of(program, node.left) + " = " + text_of(program, node.right));
        break;
      case Connective::unequal:
        texts.push_back(text_of(program, node.left) + " != " + text_of(program, node.right));
        break;
      case Connective::negation:
        texts.push_back("!(" + texts[node.first] + ")");
        break;
      case Connective::conjunction:
        texts.push_back(inside(node.first, node.connective) + " & " + inside(node.second, node.connective));
        break;
      case Connective::disjunction:
        texts.push_back(inside(node.first, node.connective) + " | " + inside(node.second, node.connective));
        break;
    }
  }
  return texts.back();
}

std::string to_text(const Program& program) {
  std::string out = "litmus " + program.name + "\n";
  out += program.doc.empty() ? "" : "doc " + program.doc + "\n";
  out += program.atomics == AtomicScope::glob ? "atomics glob\n" : "";
  for (LocationIndex index = 0; index < program.locations.size(); ++index) {
    out += fmt::format("init {}={}\n", location_name(program, index), program.locations[index].initial);
  }
  for (const Queue& queue : program.queues) {
    out += fmt::format("queue {} {} {}\n", queue.name, program.nodes[queue.from], program.nodes[queue.to]);
  }
  for (const Thread& thread : program.threads) {
    out += fmt::format("thread {} on {}\n", thread.name, program.nodes[thread.node]);
    for (const Instruction& instruction : thread.instructions) {
      out += "  " + to_text(program, instruction) + "\n";
    }
  }
  if (program.question) {
    out += "ask " + to_text(program, *program.question) + "\n";
  }
  std::string_view separator = "expect ";
  for (std::size_t profile = 0; profile < kProfiles; ++profile) {
    if (program.expected[profile]) {
      out += fmt::format("{}{} {}", separator, to_string(static_cast<ProfileName>(profile)),
                         to_string(*program.expected[profile]));
      separator = ", ";
    }
  }
  return out + (separator == ", " ? "\n" : "");
}

}  // namespace ferry::sim::litmus
