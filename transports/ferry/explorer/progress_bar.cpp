#include <ferry/explorer/progress_bar.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include <ferry/explorer/worker.hpp>

namespace ferry::explorer {
namespace {

constexpr std::int64_t kRedraw = 100'000'000;  // nanoseconds
constexpr std::uint64_t kCells = 30;

}  // namespace

ProgressBar::ProgressBar(std::uint64_t total)
    : total_(total), is_terminal_(::isatty(STDERR_FILENO) != 0), began_(monotonic_now()) {}

std::string ProgressBar::line(std::uint64_t done, std::uint64_t total, double per_second, std::uint64_t failures) {
  const std::uint64_t filled = total == 0 ? 0 : std::min(done, total) * kCells / total;
  return fmt::format("[{:#<{}}{:.<{}}] {} of {} worlds, {:.0f} a second, {} failure{}", "", filled, "", kCells - filled,
                     done, total, per_second, failures, failures == 1 ? "" : "s");
}

void ProgressBar::show(std::uint64_t done, std::uint64_t failures) {
  const std::int64_t now = monotonic_now();
  if (!is_terminal_ || now - drawn_ < kRedraw) {
    return;
  }
  drawn_ = now;
  is_there_ = true;
  const double seconds = std::max(static_cast<double>(now - began_) / 1e9, 1e-3);
  const std::string text = line(done, total_, static_cast<double>(done) / seconds, failures);
  std::fputs(("\r\033[K" + text).c_str(), stderr);  // lint: allow(print) the progress bar is asked for by exploring
  std::fflush(stderr);
}

void ProgressBar::clear() {
  if (is_there_) {
    is_there_ = false;
    std::fputs("\r\033[K", stderr);  // lint: allow(print) takes the bar away
    std::fflush(stderr);
  }
}

}  // namespace ferry::explorer
