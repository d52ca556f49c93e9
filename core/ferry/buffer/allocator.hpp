// ferry::vector, Allocator, allocate(): memory in the node's shared segments, which peers of the host reach fastest.
//
// Inside a task or an actor's constructor they take it from that node; elsewhere, and where no transport offers shared
// memory, from the ordinary heap: everything works with any memory. It may outlive the node.
#pragma once

#include <cstddef>
#include <memory>
#include <memory_resource>
#include <new>
#include <utility>
#include <vector>

#include <ferry/memory/shared_memory.hpp>

namespace ferry {

class NodeCore;

namespace detail {
// The ambient node's shared memory; null if there is none.
std::shared_ptr<SharedMemory> ambient_shared_memory() noexcept;
// Throws Error (resource_exhausted) or std::bad_alloc.
void* allocate_bytes(SharedMemory* from, std::size_t bytes, std::size_t alignment);
void deallocate_bytes(SharedMemory* to, void* memory, std::size_t bytes, std::size_t alignment) noexcept;
}  // namespace detail

// Remembers where it allocates: the node that was ambient when it was made, or the heap.
template <class T>
class Allocator {
 public:
  using value_type = T;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;

  Allocator() noexcept : memory_(detail::ambient_shared_memory()) {}
  explicit Allocator(std::shared_ptr<SharedMemory> memory) noexcept : memory_(std::move(memory)) {}
  template <class U>
  Allocator(const Allocator<U>& other) noexcept : memory_(other.memory()) {}  // NOLINT: rebinding is implicit

  T* allocate(std::size_t count) {
    if (count > static_cast<std::size_t>(-1) / sizeof(T)) {
      throw std::bad_array_new_length();
    }
    return static_cast<T*>(detail::allocate_bytes(memory_.get(), count * sizeof(T), alignof(T)));
  }
  void deallocate(T* memory, std::size_t count) noexcept {
    detail::deallocate_bytes(memory_.get(), memory, count * sizeof(T), alignof(T));
  }

  const std::shared_ptr<SharedMemory>& memory() const noexcept { return memory_; }
  template <class U>
  friend bool operator==(const Allocator& a, const Allocator<U>& b) noexcept {
    return a.memory() == b.memory();
  }

 private:
  std::shared_ptr<SharedMemory> memory_;  // null: the heap
};

template <class T>
using vector = std::vector<T, Allocator<T>>;

// The same as a polymorphic resource.
class MemoryResource final : public std::pmr::memory_resource {
 public:
  MemoryResource() noexcept : memory_(detail::ambient_shared_memory()) {}

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    return detail::allocate_bytes(memory_.get(), bytes, alignment);
  }
  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
    detail::deallocate_bytes(memory_.get(), memory, bytes, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    const auto* same = dynamic_cast<const MemoryResource*>(&other);
    return same != nullptr && same->memory_ == memory_;
  }

  std::shared_ptr<SharedMemory> memory_;
};

}  // namespace ferry
