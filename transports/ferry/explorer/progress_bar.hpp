// ProgressBar: how far an exploration is, on stderr where that is a terminal; nothing elsewhere.
//
// Owner: who explores. One thread.
#pragma once

#include <cstdint>
#include <string>

namespace ferry::explorer {

class ProgressBar {
 public:
  // total: of worlds.
  explicit ProgressBar(std::uint64_t total);

  // Redraws at most ten times a second.
  void show(std::uint64_t done, std::uint64_t failures);
  // Takes the bar away, if it is there; for other output, and at the end.
  void clear();

  // "[#####.....] 500 of 1000 worlds, 2000 a second, 0 failures".
  static std::string line(std::uint64_t done, std::uint64_t total, double per_second, std::uint64_t failures);

 private:
  const std::uint64_t total_;
  const bool is_terminal_;
  const std::int64_t began_;
  std::int64_t drawn_ = 0;
  bool is_there_ = false;
};

}  // namespace ferry::explorer
