#include "cores.hpp"

#include <sched.h>

#include <cstddef>
#include <filesystem>
#include <string>

namespace ferry_bench {

void keep_process_to_core(int which) {
  cpu_set_t usable;
  if (::sched_getaffinity(0, sizeof usable, &usable) != 0 || CPU_COUNT(&usable) <= which) {
    return;
  }
  cpu_set_t only;
  CPU_ZERO(&only);
  int seen = 0;
  for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &usable) && seen++ == which) {
      CPU_SET(core, &only);
    }
  }
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    ::sched_setaffinity(std::stoi(thread.path().filename().string()), sizeof only, &only);
  }
}

}  // namespace ferry_bench
