#include "counted.hpp"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <csignal>

namespace ferry::run_tests {

#if defined(__x86_64__) && __has_include(<linux/prctl.h>)

namespace {

// Of <linux/prctl.h>, which the C library's headers may be older than.
constexpr int kSetDispatch = 59;
constexpr char kAllow = 0;
constexpr char kBlock = 1;

constinit thread_local volatile char selector = kAllow;
constinit thread_local volatile long noticed = -1;

// Notices the first, lets it and those after it pass.
void on_system_call(int, siginfo_t*, void* raw) {
  selector = kAllow;
  auto& registers = static_cast<ucontext_t*>(raw)->uc_mcontext.gregs;
  noticed = static_cast<long>(registers[REG_RAX]);
  registers[REG_RAX] = ::syscall(static_cast<long>(registers[REG_RAX]), registers[REG_RDI], registers[REG_RSI],
                                 registers[REG_RDX], registers[REG_R10], registers[REG_R8], registers[REG_R9]);
  if (registers[REG_RAX] == -1) {
    registers[REG_RAX] = -errno;
  }
}

bool dispatch(bool on) noexcept {
  return ::prctl(kSetDispatch, on ? 1UL : 0UL, 0UL, 0UL, on ? &selector : nullptr) == 0;
}

}  // namespace

bool SystemCallTrap::is_supported() noexcept {
  return dispatch(true) && dispatch(false);
}

SystemCallTrap::SystemCallTrap() noexcept {
  struct sigaction action {};
  action.sa_sigaction = on_system_call;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGSYS, &action, nullptr);
  noticed = -1;
  dispatch(true);
  selector = kBlock;
}

SystemCallTrap::~SystemCallTrap() {
  selector = kAllow;
  dispatch(false);
}

long SystemCallTrap::first() const noexcept {
  return noticed;
}

#else

bool SystemCallTrap::is_supported() noexcept {
  return false;
}
SystemCallTrap::SystemCallTrap() noexcept = default;
SystemCallTrap::~SystemCallTrap() = default;
long SystemCallTrap::first() const noexcept {
  return -1;
}

#endif

}  // namespace ferry::run_tests
