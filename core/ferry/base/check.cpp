#include <ferry/base/check.hpp>

#include <cstdio>
#include <cstdlib>

namespace ferry {

void check_failed(const char* expression, const char* file, int line) noexcept {
  // lint: allow(print) the process is about to abort and has no Log
  std::fprintf(stderr, "ferry: internal error: %s is false at %s:%d. This is a bug of ferry; please report it.\n",
               expression, file, line);
  std::abort();
}

}  // namespace ferry
