#include <ferry/sim/sim_log.hpp>

#include <fmt/format.h>

#include <ferry/sim/outside.hpp>
#include <ferry/sim/process.hpp>
#include <ferry/sim/world.hpp>

namespace ferry::sim {

std::string to_text(const LogLine& line) {
  const auto nanoseconds = line.at.time_since_epoch().count();
  return fmt::format("{}.{:09} {}: {}", nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000, line.process,
                     line.text);
}

void SimLog::write(TimePoint at, std::string_view process, LogLevel level, std::string_view text) {
  const LogLine line{at, std::string(process), level, std::string(text)};
  if (also_ != nullptr) {
    const OutsideWorld outside;
    also_->write(level, to_text(line));
  }
  if (lines_.size() < kLines) {
    lines_.push_back(line);
  } else {
    ++dropped_;
  }
}

void ProcessLog::write(LogLevel level, std::string_view line) noexcept {
  process_.world().log().write(process_.world().now(), process_.name(), level, line);
  process_.world().trace(&process_, TracedEvent::Kind::log, line);
}

}  // namespace ferry::sim
