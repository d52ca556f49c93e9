#include "allocation_counter.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::uint64_t> count_of_process{0};
std::atomic<std::uint64_t> bytes_of_process{0};
constinit thread_local std::uint64_t count_of_thread = 0;

void* checked(void* memory) {
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

void count(std::size_t size) noexcept {
  count_of_process.fetch_add(1, std::memory_order_relaxed);
  bytes_of_process.fetch_add(size, std::memory_order_relaxed);
  ++count_of_thread;
}

void* counted(std::size_t size) {
  count(size);
  return checked(std::malloc(size == 0 ? 1 : size));
}

void* counted(std::size_t size, std::align_val_t alignment) {
  count(size);
  const auto bytes = static_cast<std::size_t>(alignment);
  return checked(std::aligned_alloc(bytes, (size + bytes - 1) / bytes * bytes));
}

}  // namespace

namespace ferry::test {

std::uint64_t allocations() noexcept {
  return count_of_process.load(std::memory_order_relaxed);
}
std::uint64_t allocations_of_thread() noexcept {
  return count_of_thread;
}
std::uint64_t allocated_bytes() noexcept {
  return bytes_of_process.load(std::memory_order_relaxed);
}

}  // namespace ferry::test

void* operator new(std::size_t size) {
  return counted(size);
}
void* operator new[](std::size_t size) {
  return counted(size);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted(size, alignment);
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return counted(size, alignment);
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
