#include <ferry/system/inherited_bootstrap.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include <ferry/system/system_error.hpp>
#include <ferry/system/thread_setup.hpp>

namespace ferry::system {
namespace {

std::atomic<bool> started_by_a_host{false};

constexpr off_t kMaxBytes = off_t{1} << 20;

Failure refuse(std::string_view why) {
  return Failure(errc::malformed, fmt::format("{} is set but {}; unset it unless a ferry program started this one",
                                              kBootstrapVariable, why));
}

struct Descriptors {
  int file = -1;
  int death_pipe = -1;
};

bool parse(std::string_view text, Descriptors& out) {
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, out.file);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != ',') {
    return false;
  }
  const auto second = std::from_chars(first.ptr + 1, end, out.death_pipe);
  return second.ec == std::errc() && second.ptr == end && out.file >= 0 && out.death_pipe >= 0;
}

// Blocks until the parent's end is closed, which the kernel does however the parent ends. The kernel's own signal
// (PR_SET_PDEATHSIG) does not reach a program that changed its credentials.
void watch_parent(int death_pipe) {
  std::byte byte{};
  for (;;) {
    const ssize_t got = ::read(death_pipe, &byte, 1);
    if (got == 0 || (got < 0 && errno != EINTR)) {
      ::kill(::getpid(), SIGKILL);
    }
  }
}

}  // namespace

bool is_child() noexcept {
  return started_by_a_host.load(std::memory_order_relaxed) || has_bootstrap_waiting();
}

bool has_bootstrap_waiting() noexcept {
  return std::getenv(kBootstrapVariable) != nullptr;
}

Result<std::optional<Bootstrap>> inherited_bootstrap() {
  const char* text = std::getenv(kBootstrapVariable);
  if (text == nullptr) {
    return std::optional<Bootstrap>();
  }
  Descriptors numbers;
  if (!parse(text, numbers)) {
    return refuse("does not hold two descriptors");
  }
  struct stat status {};
  const int seals = ::fcntl(numbers.file, F_GET_SEALS);
  if (seals < 0 || (seals & kBootstrapSeals) != kBootstrapSeals || ::fstat(numbers.file, &status) != 0 ||
      status.st_size > kMaxBytes) {
    return refuse("its first descriptor is not the sealed file of a parent");
  }
  struct stat pipe {};
  if (::fstat(numbers.death_pipe, &pipe) != 0 || !S_ISFIFO(pipe.st_mode)) {
    return refuse("its second descriptor is not the pipe of a parent");
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
  if (::pread(numbers.file, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return system_failure(errno, "reading the parent's bootstrap", errc::malformed);
  }
  auto bootstrap = decode_bootstrap(bytes);
  if (!bootstrap) {
    return bootstrap.error();
  }
  ::close(numbers.file);
  ::unsetenv(kBootstrapVariable);
  ::fcntl(numbers.death_pipe, F_SETFD, FD_CLOEXEC);
  started_by_a_host.store(true, std::memory_order_relaxed);
  try {
    // For the life of the process: it must outlast everything else in it.
    start_thread("ferry-parent", [pipe = numbers.death_pipe] { watch_parent(pipe); }).detach();
  } catch (const std::system_error& error) {
    return system_failure(error.code().value(), "starting the thread that watches the parent");
  }
  return std::optional<Bootstrap>(std::move(*bootstrap));
}

}  // namespace ferry::system
