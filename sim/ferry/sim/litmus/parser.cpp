#include <ferry/sim/litmus/parser.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <ferry/sim/litmus/condition_parser.hpp>
#include <ferry/sim/litmus/instruction_parser.hpp>
#include <ferry/sim/litmus/limits.hpp>
#include <ferry/sim/litmus/line_reader.hpp>
#include <ferry/sim/litmus/test_names.hpp>

namespace ferry::sim::litmus {
namespace {

constexpr std::string_view kKeywords = "init, queue, thread, atomics, doc, ask, expect or litmus";

struct Line {
  std::size_t number = 0;  // from 1
  std::string_view text;   // without comment
  std::string_view keyword;
};

struct Complaint {
  std::size_t line = 0;
  Mismatch mismatch;
};

// The lines of one test, which may stand in any order after `litmus`, with threads' instructions below their thread:
// first what declares names, then what uses them.
class TestParser {
 public:
  explicit TestParser(const std::vector<Line>& lines) : lines_(lines) {}

  std::optional<Complaint> parse() {
    for (const auto step : {&TestParser::declare, &TestParser::instruct, &TestParser::ask}) {
      thread_.reset();
      for (const Line& line : lines_) {
        LineReader reader(line.text);
        (this->*step)(line, reader);
        if (reader.is_refused()) {
          return Complaint{line.number, reader.mismatch()};
        }
      }
    }
    return std::nullopt;
  }

  Program take() { return std::move(program_); }

 private:
  void declare(const Line& line, LineReader& reader) {
    if (line.keyword == "litmus") {
      reader.take();
      program_.name = reader.name("litmus NAME");
      reader.require_end("the end of the line after litmus NAME");
    } else if (line.keyword == "doc") {
      once(line, reader);
      const std::string_view text = line.text.substr(line.text.find("doc") + 3);
      const std::size_t begin = text.find_first_not_of(" \t");
      program_.doc = begin == std::string_view::npos ? std::string_view() : text.substr(begin);
    } else if (line.keyword == "atomics") {
      once(line, reader);
      const std::string_view scope = reader.name("atomics hca or atomics glob");
      if (scope != "hca" && scope != "glob") {
        reader.refuse(quoted(scope), "atomics hca or atomics glob");
      }
      program_.atomics = scope == "glob" ? AtomicScope::glob : AtomicScope::hca;
      reader.require_end("the end of the line after the scope of atomics");
    } else if (line.keyword == "init") {
      reader.take();
      do {
        declare_location(reader);
      } while (!reader.is_refused() && reader.peek().kind != Token::Kind::end);
    } else if (line.keyword == "queue") {
      declare_queue(reader);
    } else if (line.keyword == "thread") {
      declare_thread(reader);
    } else if (line.keyword != "ask" && line.keyword != "expect" && !is_instruction(line.keyword)) {
      reader.refuse_next(fmt::format("an instruction ({}) or one of {}", kMnemonics, kKeywords));
    }
  }

  void declare_location(LineReader& reader) {
    constexpr std::string_view expected = "NAME@NODE=VALUE";
    if (reader.peek().kind != Token::Kind::location) {
      reader.refuse_next(expected);
      return;
    }
    const Token name = reader.take();
    reader.require("=", expected);
    const Value initial = reader.integer("an unsigned integer as initial value");
    if (reader.is_refused() || is_full(reader, program_.locations.size(), kMaxLocations, "locations")) {
      return;
    }
    if (!names_.locations.emplace(name.text, static_cast<LocationIndex>(program_.locations.size())).second) {
      reader.refuse(fmt::format("location {} a second time", quoted(name.text)), "each location declared once");
      return;
    }
    program_.locations.push_back({std::string(name.first), names_.node(name.second, program_), initial});
  }

  void declare_queue(LineReader& reader) {
    constexpr std::string_view expected = "queue NAME FROM TO";
    reader.take();
    const std::string_view name = reader.name(expected);
    const std::string_view from = reader.name(expected);
    const std::string_view to = reader.name(expected);
    reader.require_end("the end of the line after queue NAME FROM TO");
    if (reader.is_refused() || is_full(reader, program_.queues.size(), kMaxQueues, "queues")) {
      return;
    }
    if (!names_.queues.emplace(name, static_cast<QueueIndex>(program_.queues.size())).second) {
      reader.refuse(fmt::format("queue {} a second time", quoted(name)), "each queue declared once");
      return;
    }
    const NodeIndex first = names_.node(from, program_);
    program_.queues.push_back({std::string(name), first, names_.node(to, program_)});
  }

  void declare_thread(LineReader& reader) {
    constexpr std::string_view expected = "thread NAME on NODE";
    reader.take();
    const std::string_view name = reader.name(expected);
    const std::string_view on = reader.name(expected);
    if (on != "on") {
      reader.refuse(quoted(on), std::string(expected));
    }
    const std::string_view node = reader.name(expected);
    reader.require_end("the end of the line after thread NAME on NODE");
    if (reader.is_refused() || is_full(reader, program_.threads.size(), kMaxThreads, "threads")) {
      return;
    }
    if (!names_.threads.emplace(name, static_cast<ThreadIndex>(program_.threads.size())).second) {
      reader.refuse(fmt::format("thread {} a second time", quoted(name)), "each thread declared once");
      return;
    }
    program_.threads.push_back({std::string(name), names_.node(node, program_), {}});
  }

  void instruct(const Line& line, LineReader& reader) {
    if (line.keyword == "thread") {
      thread_ = static_cast<ThreadIndex>(thread_ ? *thread_ + 1 : 0);
    } else if (is_instruction(line.keyword)) {
      if (!thread_) {
        reader.refuse("the instruction " + quoted(line.text), "thread NAME on NODE before its instructions");
      } else if (!is_full(reader, instructions_++, kMaxInstructions, "instructions")) {
        parse_instruction(reader, names_, program_, *thread_);
      }
    }
  }

  void ask(const Line& line, LineReader& reader) {
    if (line.keyword == "ask") {
      once(line, reader);
      if (!reader.is_refused()) {
        program_.question = parse_condition(reader, names_);
      }
    } else if (line.keyword == "expect") {
      once(line, reader);
      do {
        expect_verdict(reader);
      } while (reader.accept(","));
      reader.require_end("a comma or the end of the line after PROFILE VERDICT");
      const bool has_question =
          std::any_of(lines_.begin(), lines_.end(), [](const Line& each) { return each.keyword == "ask"; });
      if (!has_question) {
        reader.refuse("expect in a test without ask", "ask, the question that the verdict answers");
      }
    }
  }

  void expect_verdict(LineReader& reader) {
    const std::string_view name = reader.name("a profile (strict, portable, relaxed or unordered)");
    const auto profile = profile_from(name);
    if (!profile) {
      reader.refuse(quoted(name), "a profile (strict, portable, relaxed or unordered)");
      return;
    }
    const std::string_view word = reader.name("a verdict (allowed or forbidden)");
    const auto verdict = verdict_from(word);
    if (!verdict) {
      reader.refuse(quoted(word), "a verdict (allowed or forbidden)");
      return;
    }
    auto& expected = program_.expected[static_cast<std::size_t>(*profile)];
    if (expected) {
      reader.refuse(fmt::format("profile {} a second time", quoted(name)), "each profile at most once");
    }
    expected = verdict;
  }

  // Takes the keyword of a line that may stand once in a test.
  void once(const Line& line, LineReader& reader) {
    reader.take();
    const auto [first, is_new] = seen_.emplace(line.keyword, line.number);
    if (!is_new) {
      reader.refuse(fmt::format("{} a second time, after line {}", line.keyword, first->second),
                    fmt::format("{} at most once in a test", line.keyword));
    }
  }

  static bool is_full(LineReader& reader, std::size_t size, std::size_t limit, std::string_view what) {
    if (size < limit) {
      return false;
    }
    reader.refuse(fmt::format("more than {} {}", limit, what), fmt::format("at most {} {} in a test", limit, what));
    return true;
  }

  const std::vector<Line>& lines_;
  Program program_;
  TestNames names_;
  std::map<std::string_view, std::size_t> seen_;  // keyword to line, of those that may stand once
  std::optional<ThreadIndex> thread_;             // whose instructions are being read
  std::size_t instructions_ = 0;
};

Failure refusal(std::string_view file, const Complaint& complaint) {
  return Failure(errc::malformed, fmt::format("{}:{}: found {}; expected {}", file, complaint.line,
                                              complaint.mismatch.found, complaint.mismatch.expected));
}

// The lines that are not empty.
std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  std::size_t number = 0;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    line = line.substr(0, line.find('#'));
    line = line.substr(0, line.find_last_not_of(" \t\r") + 1);
    ++number;
    const Token first = LineReader(line).peek();
    if (first.kind != Token::Kind::end) {
      lines.push_back({number, line, first.text});
    }
  }
  return lines;
}

}  // namespace

Result<std::vector<Program>> parse(std::string_view file, std::string_view text) {
  if (text.size() > kMaxFileSize) {
    return refusal(file, {1,
                          {fmt::format("a file of {} bytes", text.size()),
                           fmt::format("litmus tests in at most {} bytes", kMaxFileSize)}});
  }
  const std::vector<Line> lines = lines_of(text);
  if (lines.empty() || lines.front().keyword != "litmus") {
    const Line first = lines.empty() ? Line{1, {}, {}} : lines.front();
    const std::string found = lines.empty() ? std::string("no test") : quoted(first.keyword);
    return refusal(file, {first.number, {found, "litmus NAME, which begins a test"}});
  }
  std::vector<Program> programs;
  std::map<std::string, std::size_t> names;  // to the line of the test
  for (auto begin = lines.begin(); begin != lines.end();) {
    const auto end = std::find_if(begin + 1, lines.end(), [](const Line& line) { return line.keyword == "litmus"; });
    const std::vector<Line> own(begin, end);
    TestParser parser(own);
    if (const auto complaint = parser.parse()) {
      return refusal(file, *complaint);
    }
    programs.push_back(parser.take());
    const auto [first, is_new] = names.emplace(programs.back().name, begin->number);
    if (!is_new) {
      return refusal(file, {begin->number,
                            {fmt::format("test {} a second time, after line {}", programs.back().name, first->second),
                             "each test of a file with a name of its own"}});
    }
    begin = end;
  }
  return programs;
}

}  // namespace ferry::sim::litmus
