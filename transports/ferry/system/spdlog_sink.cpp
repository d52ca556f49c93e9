#include <ferry/system/spdlog_sink.hpp>

#include <algorithm>
#include <exception>

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

namespace ferry::system {
namespace {

spdlog::level::level_enum level_of(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

// A line may quote what a peer sent: it must neither begin lines of its own nor steer a terminal.
bool is_control(char character) noexcept {
  return static_cast<unsigned char>(character) < ' ' || character == '\x7f';
}

}  // namespace

SpdlogSink::SpdlogSink(const std::string& name)
    : logger_(std::make_unique<spdlog::logger>(name, std::make_shared<spdlog::sinks::stderr_sink_mt>())) {
  logger_->set_pattern("%H:%M:%S.%e ferry %n %l: %v");
  logger_->flush_on(spdlog::level::debug);
}

SpdlogSink::~SpdlogSink() = default;

void SpdlogSink::write(LogLevel level, std::string_view line) noexcept {
  try {
    if (std::any_of(line.begin(), line.end(), is_control)) {
      std::string printable(line);
      std::replace_if(printable.begin(), printable.end(), is_control, '?');
      logger_->log(level_of(level), printable);
    } else {
      logger_->log(level_of(level), spdlog::string_view_t(line.data(), line.size()));
    }
  } catch (const std::exception&) {
    // A line that cannot be written is lost; nothing else may suffer from it.
  }
}

}  // namespace ferry::system
