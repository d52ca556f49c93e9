#include <ferry/process/process_host.hpp>

#include <cstring>

#include <fmt/format.h>

namespace ferry {

std::string ProcessExit::to_text() const {
  std::string text = how == How::exited ? fmt::format("exited with status {}", value)
                     : how == How::killed_by_signal
                         ? fmt::format("was killed by signal {} ({})", value, ::strsignal(value))
                         : "ended, and how is not known: this process ignores SIGCHLD, or "
                           "something else in it waits for every child";
  return last_words.empty() ? text + " and wrote nothing to stderr" : text + "; it wrote: " + last_words;
}

}  // namespace ferry
