// ferry-history: judges histories of shared objects: is each linearizable?
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <ferry/sim/history/runner/history_file.hpp>

namespace {

constexpr int kFailed = 1;  // a history is not linearizable, or undecided
constexpr int kWrong = 2;   // wrong usage, a file that is no history, or output that cannot be written

struct Arguments {
  std::vector<std::string> files;
  std::string model;
  ferry::sim::LinearizabilityOptions options;
};

// The text of a file, "-" being the standard input; false, with the reason in errno.
bool read_file(const std::string& name, std::string& text) {
  std::FILE* const file = name == "-" ? stdin : std::fopen(name.c_str(), "rb");
  if (file == nullptr) {
    return false;
  }
  std::array<char, 65536> bytes;
  std::size_t count = 0;
  while ((count = std::fread(bytes.data(), 1, bytes.size(), file)) > 0) {
    text.append(bytes.data(), count);
  }
  const int error = std::ferror(file) != 0 ? errno : 0;
  if (file != stdin) {
    std::fclose(file);
  }
  errno = error;
  return error == 0;
}

void say(const std::string& text) {
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stdout));  // main() looks whether it arrived
}

void complain(const std::string& text) {
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
}

// The status, unless what was said has not arrived.
int written(int status) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) {
    return status;
  }
  complain(fmt::format("ferry-history: the output cannot be written: {}\n", std::strerror(errno)));
  return kWrong;
}

int judge_file(const std::string& name, const Arguments& arguments) {
  std::string text;
  if (!read_file(name, text)) {
    complain(
        fmt::format("ferry-history: {} cannot be read: {}; give a file of JSON lines, or - for the standard input\n",
                    name, std::strerror(errno)));
    return kWrong;
  }
  const auto history = ferry::sim::parse_history(name, text, arguments.model);
  if (!history) {
    complain(fmt::format("ferry-history: {}\n", history.error().detail()));
    return kWrong;
  }
  const ferry::sim::Verdict verdict = ferry::sim::judge(*history, arguments.options);
  const auto counts = fmt::format("{} calls, {} objects, {} configurations", history->calls.size(),
                                  history->keys.size(), verdict.configurations);
  using Kind = ferry::sim::Verdict::Kind;
  if (verdict.kind == Kind::linearizable) {
    say(fmt::format("{}: linearizable ({})\n", name, counts));
    return 0;
  }
  say(fmt::format("{}: {} ({}); object {}: {}", name,
                  verdict.kind == Kind::undecided ? "UNDECIDED" : "NOT LINEARIZABLE", counts,
                  history->keys.at(verdict.key), verdict.text));
  return kFailed;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Judges histories of shared objects (registers, locks, queues): is each linearizable? Exit code 0: all are; 1: "
      "one "
      "is not, or could not be decided; 2: anything else.",
      "ferry-history");
  Arguments arguments;
  app.add_option("FILE", arguments.files, "JSON lines, one call each; - is the standard input")->required();
  app.add_option("--model", arguments.model, "what the objects are, where the file does not say it")
      ->check(CLI::IsMember({"register", "lock", "queue"}));
  app.add_option("--max-configurations", arguments.options.max_configurations,
                 "configurations to remember for one object before it counts as undecided")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out;
    std::ostringstream complaint;
    const int status = app.exit(error, out, complaint) == 0 ? 0 : kWrong;
    say(out.str());
    complain(complaint.str());
    return written(status);
  }
  int status = 0;
  for (const std::string& file : arguments.files) {
    status = std::max(status, judge_file(file, arguments));
  }
  return written(status);
}
