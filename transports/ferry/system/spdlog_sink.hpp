// SpdlogSink: ferry's log lines on stderr through spdlog: time, process, level, text. Debug lines are left out.
//
// An event is one line: control characters in it are shown as question marks. Owner: the composer. Any thread.
#pragma once

#include <memory>
#include <string>

#include <ferry/base/log.hpp>

namespace spdlog {
class logger;
}

namespace ferry::system {

class SpdlogSink final : public Log {
 public:
  // name: of the process, for people.
  explicit SpdlogSink(const std::string& name);
  ~SpdlogSink() override;

  void write(LogLevel level, std::string_view line) noexcept override;

 private:
  std::unique_ptr<spdlog::logger> logger_;
};

}  // namespace ferry::system
