// Log: where ferry's few log lines go. An interface, so that core opens nothing; spdlog is a sink of it in `system`.
//
// Lines are for people who operate a program: one line per event that somebody may want to act on, never per message.
// Any thread may call write().
#pragma once

#include <string_view>

namespace ferry {

enum class LogLevel : unsigned char { debug, info, warning, error };

class Log {
 public:
  virtual ~Log() = default;
  virtual void write(LogLevel level, std::string_view line) noexcept = 0;
};

// A Log that drops everything; what a test or an embedded Node uses unless told otherwise.
class NullLog final : public Log {
 public:
  void write(LogLevel, std::string_view) noexcept override {}
};

}  // namespace ferry
