#include <ferry/verbs/verbs_failure.hpp>

#include <sys/resource.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace ferry::verbs {
namespace {

std::string error_text(int error) {
  const char* const name = ::strerrorname_np(error);
  return fmt::format("{} ({})", ::strerrordesc_np(error) == nullptr ? "unknown error" : ::strerrordesc_np(error),
                     name == nullptr ? std::to_string(error) : name);
}

errc code_of(int error, errc fallback) noexcept {
  switch (error) {
    case ENOMEM:
    case ENOSPC:
    case EMFILE:
    case ENFILE:
    case EAGAIN:
      return errc::resource_exhausted;
    case EACCES:
    case EPERM:
      return errc::access_denied;
    case EOPNOTSUPP:
    case ENOSYS:
      return errc::unsupported;
    default:
      return fallback;
  }
}

}  // namespace

Failure verbs_failure(int error, std::string_view call, std::string_view on, errc fallback) {
  return Failure(code_of(error, fallback), fmt::format("{} on {}: {}", call, on, error_text(error)));
}

Failure registration_failure(int error, std::size_t length, std::string_view device) {
  std::string remedy;
  rlimit limit{};
  if (error == ENOMEM && ::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    remedy = fmt::format(
        "; this process may lock {} bytes: raise the limit (ulimit -l unlimited, LimitMEMLOCK=infinity in a systemd "
        "unit, memlock in /etc/security/limits.conf)",
        limit.rlim_cur);
  }
  return Failure(code_of(error, errc::invalid_argument), fmt::format("registering {} bytes with {} (ibv_reg_mr): {}{}",
                                                                     length, device, error_text(error), remedy));
}

}  // namespace ferry::verbs
