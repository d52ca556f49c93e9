#include <ferry/buffer/allocator.hpp>

#include <ferry/base/failure.hpp>
#include <ferry/transport/node_core.hpp>

namespace ferry::detail {

std::shared_ptr<SharedMemory> ambient_shared_memory() noexcept {
  const NodeCore* node = NodeCore::current();
  return node == nullptr ? nullptr : node->shared_memory();
}

void* allocate_bytes(SharedMemory* from, std::size_t bytes, std::size_t alignment) {
  if (from == nullptr) {
    return ::operator new(bytes, std::align_val_t(alignment));
  }
  auto memory = from->allocate(bytes, alignment);
  if (!memory) {
    throw Error(memory.error().during("allocate"));
  }
  return memory->memory;
}

void deallocate_bytes(SharedMemory* to, void* memory, std::size_t bytes, std::size_t alignment) noexcept {
  if (to == nullptr) {
    ::operator delete(memory, std::align_val_t(alignment));
  } else {
    to->deallocate(static_cast<std::byte*>(memory), bytes, alignment);
  }
}

}  // namespace ferry::detail
