#include "counters.hpp"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <string>

#include <fmt/format.h>

namespace ferry_bench {
namespace {

std::atomic<std::uint64_t> allocation_count{0};

void* counted(std::size_t size) {
  allocation_count.fetch_add(1, std::memory_order_relaxed);
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

void* counted(std::size_t size, std::align_val_t alignment) {
  allocation_count.fetch_add(1, std::memory_order_relaxed);
  const auto bytes = static_cast<std::size_t>(alignment);
  void* memory = std::aligned_alloc(bytes, (size + bytes - 1) / bytes * bytes);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

// The kernel's number for "a system call begins"; 0 where it does not tell.
std::uint64_t tracepoint() {
  std::uint64_t number = 0;
  std::ifstream("/sys/kernel/tracing/events/raw_syscalls/sys_enter/id") >> number;
  return number;
}

}  // namespace

std::uint64_t allocations() noexcept {
  return allocation_count.load(std::memory_order_relaxed);
}

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

void* operator new(std::size_t size) {
  return ferry_bench::counted(size);
}
void* operator new[](std::size_t size) {
  return ferry_bench::counted(size);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return ferry_bench::counted(size, alignment);
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return ferry_bench::counted(size, alignment);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
