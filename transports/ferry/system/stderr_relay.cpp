#include <ferry/system/stderr_relay.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace ferry::system {

bool StderrRelay::read(std::string& lines) {
  std::array<char, 4096> buffer;
  for (std::size_t total = 0; pipe_ && total < kTurn;) {
    const ssize_t got = ::read(pipe_.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0 && errno == EAGAIN) {
      return false;
    }
    if (got <= 0) {
      pipe_.reset();
      flush(lines, true);
      return false;
    }
    const std::string_view text(buffer.data(), static_cast<std::size_t>(got));
    total += text.size();
    last_words_.append(text);
    if (last_words_.size() > 3 * kLastWords) {  // more than is told, as white space at the end does not count
      last_words_.erase(0, last_words_.size() - 2 * kLastWords);
    }
    unfinished_.append(text);
    // A carriage return ends a line too: programs redraw their progress with it.
    const std::size_t end = unfinished_.find_last_of("\r\n");
    if (end != std::string::npos) {
      lines.append(unfinished_, 0, end + 1);
      unfinished_.erase(0, end + 1);
    }
    if (unfinished_.size() > kLongLine) {
      flush(lines, false);
    }
  }
  return pipe_.get() >= 0;
}

void StderrRelay::flush(std::string& lines, bool complete) {
  if (!unfinished_.empty()) {
    lines.append(unfinished_);
    unfinished_.clear();
    if (complete) {
      lines.push_back('\n');
    }
  }
}

std::string StderrRelay::last_words() const {
  const std::size_t end = last_words_.find_last_not_of(" \r\n") + 1;
  const std::size_t begin = end > kLastWords ? end - kLastWords : 0;
  return last_words_.substr(begin, end - begin);
}

}  // namespace ferry::system
