#include <ferry/system/random_bytes.hpp>

#include <sys/random.h>

#include <cerrno>

#include <ferry/base/check.hpp>

namespace ferry::system {

void random_bytes(std::span<std::byte> out) noexcept {
  while (!out.empty()) {
    const ssize_t got = ::getrandom(out.data(), out.size(), 0);
    FERRY_CHECK(got > 0 || errno == EINTR);
    if (got > 0) {
      out = out.subspan(static_cast<std::size_t>(got));
    }
  }
}

}  // namespace ferry::system
