// What main returns where it has printed: the status, or 1 with a sentence if what was printed has not arrived (a full
// disk, a closed descriptor). Standard output is buffered: unasked, the end of a program would be silent about it.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstring>

inline int printed(int status) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) {
    return status;
  }
  std::fprintf(stderr, "%s: the output could not be written: %s\n", program_invocation_short_name,
               std::strerror(errno));
  return 1;
}
