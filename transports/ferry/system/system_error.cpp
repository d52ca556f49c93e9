#include <ferry/system/system_error.hpp>

#include <cerrno>
#include <cstring>
#include <string>

#include <fmt/format.h>

namespace ferry::system {
namespace {

std::string_view remedy(int error) {
  switch (error) {
    case EMFILE:
      return "raise the process's limit of open files (ulimit -n)";
    case ENFILE:
      return "raise the system's limit of open files (sysctl fs.file-max)";
    case EAGAIN:
      return "raise the limit of processes and threads (ulimit -u, or the cgroup's pids.max)";
    case ENOMEM:
      return "the system is out of memory; raise the cgroup's limit or run less beside it";
    case ENOSPC:
      return "raise the limit of epoll watches (sysctl fs.epoll.max_user_watches)";
    default:
      return {};
  }
}

}  // namespace

std::string error_text(int error) {
  const char* name = ::strerrorname_np(error);
  return fmt::format("{} ({})", ::strerrordesc_np(error) != nullptr ? ::strerrordesc_np(error) : "unknown error",
                     name != nullptr ? name : std::to_string(error).c_str());
}

Failure system_failure(int error, std::string_view attempted, errc fallback) {
  const std::string_view what_to_do = remedy(error);
  std::string detail = fmt::format("{}: {}", attempted, error_text(error));
  if (!what_to_do.empty()) {
    detail.append(": ").append(what_to_do);
  }
  return Failure(what_to_do.empty() ? fallback : errc::resource_exhausted, std::move(detail));
}

}  // namespace ferry::system
