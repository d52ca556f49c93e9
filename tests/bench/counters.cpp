#include "counters.hpp"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>

namespace ferry_bench {
namespace {

// The kernel's number for "a system call begins"; 0 where it does not tell.
std::uint64_t tracepoint() {
  std::uint64_t number = 0;
  std::ifstream("/sys/kernel/tracing/events/raw_syscalls/sys_enter/id") >> number;
  return number;
}

}  // namespace

std::optional<SystemCallCounter> SystemCallCounter::create(std::initializer_list<pid_t> processes) {
  SystemCallCounter counter;
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_TRACEPOINT;
  attributes.size = sizeof attributes;
  attributes.config = tracepoint();
  if (attributes.config == 0) {
    return std::nullopt;
  }
  for (const pid_t process : processes) {
    for (const auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process))) {
      const int thread = std::stoi(entry.path().filename().string());
      const long descriptor = ::syscall(SYS_perf_event_open, &attributes, thread, -1, -1, PERF_FLAG_FD_CLOEXEC);
      if (descriptor < 0) {
        return std::nullopt;
      }
      counter.descriptors_.push_back(static_cast<int>(descriptor));
    }
  }
  const std::uint64_t first = counter.read_all();
  counter.last_ = counter.read_all();
  counter.own_ = counter.last_ - first;
  return counter;
}

SystemCallCounter::~SystemCallCounter() {
  for (const int descriptor : descriptors_) {
    ::close(descriptor);
  }
}

std::uint64_t SystemCallCounter::read_all() const noexcept {
  std::uint64_t sum = 0;
  for (const int descriptor : descriptors_) {
    std::uint64_t value = 0;
    if (::read(descriptor, &value, sizeof value) == static_cast<ssize_t>(sizeof value)) {
      sum += value;
    }
  }
  return sum;
}

std::uint64_t SystemCallCounter::take() noexcept {
  const std::uint64_t now = read_all();
  const std::uint64_t since = now - last_;
  last_ = now;
  return since < own_ ? 0 : since - own_;
}

}  // namespace ferry_bench
