#include <ferry/process/process_host.hpp>

#include <cstring>

#include <fmt/format.h>

namespace ferry {

std::string ProcessExit::to_text() const {
  std::string text;
  switch (how) {
    case How::exited:
      text = fmt::format("exited with status {}", value);
      break;
    case How::killed_by_signal:
      text = fmt::format("was killed by signal {} ({})", value, ::strsignal(value));
      break;
    case How::unknown:
      text = "ended, and how is not known: this process ignores SIGCHLD, or something else in it waits for every child";
      break;
  }
  return last_words.empty() ? text + " and wrote nothing to stderr" : text + "; it wrote: " + last_words;
}

}  // namespace ferry
