#include <ferry/shm/os_failure.hpp>

#include <cerrno>
#include <cstring>
#include <string>

#include <fmt/format.h>

namespace ferry::shm {
namespace {

std::string_view remedy(int error) {
  switch (error) {
    case EMFILE:
      return "raise the process's limit of open files (ulimit -n)";
    case ENFILE:
      return "raise the system's limit of open files (sysctl fs.file-max)";
    case ETOOMANYREFS:
      return "raise the limit of open files (ulimit -n), which also bounds descriptors in flight";
    case ENOMEM:
    case ENOSPC:
      return "allocate less, or raise the memory limit of the cgroup, the address space (ulimit -v) or the number of "
             "mappings (sysctl vm.max_map_count)";
    case ENOBUFS:
      return "the kernel has no room for more socket buffers; open fewer connections";
    default:
      return {};
  }
}

}  // namespace

Failure os_failure(int error, std::string_view attempted, errc fallback) {
  const char* name = ::strerrorname_np(error);
  const char* meaning = ::strerrordesc_np(error);
  std::string detail = fmt::format("{}: {} ({})", attempted, meaning != nullptr ? meaning : "unknown error",
                                   name != nullptr ? name : std::to_string(error));
  const std::string_view what_to_do = remedy(error);
  if (what_to_do.empty()) {
    return Failure(fallback, std::move(detail));
  }
  return Failure(errc::resource_exhausted, detail.append("; ").append(what_to_do));
}

}  // namespace ferry::shm
