#include <ferry/wire/bytes.hpp>

#include <algorithm>
#include <limits>
#include <new>
#include <stdexcept>

namespace ferry::wire {

Bytes& Bytes::operator=(const Bytes& other) {
  if (this != &other) {
    clear();
    append(other);
  }
  return *this;
}

Bytes& Bytes::operator=(Bytes&& other) noexcept {
  if (this != &other) {
    release();
    take(other);
  }
  return *this;
}

void Bytes::resize(std::size_t size, std::byte value) {
  if (size > size_) {
    const std::size_t count = size - size_;
    std::fill_n(extend(count), count, value);
  } else {
    size_ = size;
  }
}

void Bytes::append(ByteView bytes) {
  std::copy(bytes.begin(), bytes.end(), extend(bytes.size()));
}

void Bytes::grow(std::size_t count) {
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max() / 4;
  if (count > kMost - size_) {
    throw std::length_error("ferry::wire::Bytes: more bytes than memory can hold");
  }
  const std::size_t capacity = std::max(size_ + count, 2 * capacity_);
  auto* memory = static_cast<std::byte*>(::operator new(capacity));
  std::copy(begin(), end(), memory);
  release();
  storage_.outside = memory;
  capacity_ = capacity;
}

}  // namespace ferry::wire
