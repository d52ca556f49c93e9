#include <ferry/sim/litmus/condition_parser.hpp>

#include <fmt/format.h>

#include <ferry/sim/litmus/limits.hpp>

namespace ferry::sim::litmus {
namespace {

using Connective = Condition::Connective;
using NodeNumber = std::uint16_t;

// Recursive descent, from what binds loosest to what binds tightest: | & ! then = and !=.
class ConditionParser {
 public:
  ConditionParser(LineReader& reader, const TestNames& names) : reader_(reader), names_(names) {}

  Condition parse() {
    disjunction();
    reader_.require_end("&, | or the end of the line after a comparison");
    return std::move(condition_);
  }

 private:
  NodeNumber disjunction() {
    NodeNumber left = conjunction();
    while (reader_.accept("|")) {
      const NodeNumber right = conjunction();
      left = add({Connective::disjunction, {}, {}, left, right});
    }
    return left;
  }

  NodeNumber conjunction() {
    NodeNumber left = negation();
    while (reader_.accept("&")) {
      const NodeNumber right = negation();
      left = add({Connective::conjunction, {}, {}, left, right});
    }
    return left;
  }

  NodeNumber negation() {
    const bool is_negated = reader_.accept("!");
    if (!is_negated && !reader_.accept("(")) {
      return comparison();
    }
    if (++depth_ > kMaxConditionDepth) {
      reader_.refuse("a question nested more deeply", fmt::format("at most {} levels", kMaxConditionDepth));
      return 0;
    }
    NodeNumber inner = 0;
    if (is_negated) {
      inner = add({Connective::negation, {}, {}, negation(), 0});
    } else {
      inner = disjunction();
      reader_.require(")", "&, | or )");
    }
    --depth_;
    return inner;
  }

  NodeNumber comparison() {
    Condition::Node node;
    node.left = term();
    if (reader_.accept("!=")) {
      node.connective = Connective::unequal;
    } else {
      reader_.require("=", "= or !=");
    }
    node.right = term();
    return add(node);
  }

  Term term() {
    Term term;
    const Token& next = reader_.peek();
    if (reader_.is_refused()) {
      return term;
    }
    if (next.kind == Token::Kind::location) {
      return {Term::Kind::location, names_.any_location(reader_), 0};
    }
    if (next.kind == Token::Kind::register_value) {
      return {Term::Kind::register_value, register_value(next), 0};
    }
    term.value = reader_.integer("NAME@NODE, THREAD:REGISTER or an unsigned integer");
    return term;
  }

  RegisterIndex register_value(const Token& next) {
    const auto found = TestNames::find(names_.registers, next.text);
    if (!TestNames::find(names_.threads, next.first)) {
      reader_.refuse(quoted(next.text), "a register of a declared thread (" + listed(names_.threads) + ")");
    } else if (!found) {
      reader_.refuse(quoted(next.text) + ", which no instruction writes",
                     "a register that its thread writes (" + listed(names_.registers) + ")");
    }
    reader_.take();
    return found.value_or(0);
  }

  NodeNumber add(const Condition::Node& node) {
    if (condition_.nodes.size() == 2 * kMaxConditionTerms) {
      reader_.refuse("a longer question", fmt::format("at most {} comparisons", kMaxConditionTerms));
      return 0;
    }
    condition_.nodes.push_back(node);
    return static_cast<NodeNumber>(condition_.nodes.size() - 1);
  }

  LineReader& reader_;
  const TestNames& names_;
  Condition condition_;
  std::size_t depth_ = 0;
};

}  // namespace

Condition parse_condition(LineReader& reader, const TestNames& names) {
  return ConditionParser(reader, names).parse();
}

}  // namespace ferry::sim::litmus
