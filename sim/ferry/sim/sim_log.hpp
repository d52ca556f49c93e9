// SimLog: collects the log lines of a world, with virtual time and process. ProcessLog: the Log of one process.
//
// Owner: the World. One thread. Keeps the first kLines lines and counts the others.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <ferry/base/log.hpp>
#include <ferry/base/time.hpp>

namespace ferry::sim {

struct LogLine {
  TimePoint at{};       // virtual
  std::string process;  // its name; "world" for the world's own
  LogLevel level{};
  std::string text;
};

// "1.000250000 worker: text".
std::string to_text(const LogLine& line);

class SimLog {
 public:
  static constexpr std::size_t kLines = 10'000;

  explicit SimLog(Log* also) noexcept : also_(also) {}

  void write(TimePoint at, std::string_view process, LogLevel level, std::string_view text);

  const std::vector<LogLine>& lines() const noexcept { return lines_; }
  std::size_t dropped() const noexcept { return dropped_; }

 private:
  Log* also_;  // null: nobody else
  std::vector<LogLine> lines_;
  std::size_t dropped_ = 0;
};

class Process;

class ProcessLog final : public Log {
 public:
  explicit ProcessLog(const Process& process) noexcept : process_(process) {}
  void write(LogLevel level, std::string_view line) noexcept override;

 private:
  const Process& process_;
};

}  // namespace ferry::sim
