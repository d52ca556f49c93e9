// CollectingLog: keeps the lines of a node's log for the test to look at. Any thread.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <ferry/base/log.hpp>

namespace ferry::test {

class CollectingLog final : public Log {
 public:
  void write(LogLevel, std::string_view line) noexcept override {
    const std::lock_guard lock(mutex_);
    lines_.emplace_back(line);
  }
  std::vector<std::string> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

}  // namespace ferry::test
