#include <ferry/sim/litmus/runner/output.hpp>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include <ferry/sim/litmus/runner/settings.hpp>

namespace ferry::sim::litmus::runner {
namespace {

void to_stderr(std::string_view text) {
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
}

}  // namespace

void Output::write(std::string_view text) {
  if (error_ == 0 && std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
    error_ = errno;
  }
}

void Output::flush() {
  if (error_ == 0 && std::fflush(stdout) != 0) {
    error_ = errno;
  }
}

int Output::finish(int status) {
  flush();
  if (error_ == 0) {
    return status;
  }
  complain(fmt::format("the output could not be written: {}", std::strerror(error_)));
  return kFailed;
}

void complain(std::string_view text) {
  to_stderr(fmt::format("ferry-litmus: {}\n", text));
}

Progress::Progress() : is_terminal_(::isatty(STDERR_FILENO) == 1) {}

void Progress::show(std::string_view text) {
  if (is_terminal_) {
    to_stderr(fmt::format("\r{:<{}}", text, width_));
    width_ = std::max(width_, text.size());
  }
}

void Progress::clear() {
  if (width_ > 0) {
    to_stderr(fmt::format("\r{:<{}}\r", "", width_));
    width_ = 0;
  }
}

}  // namespace ferry::sim::litmus::runner
