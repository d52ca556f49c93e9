// Bytes: the buffer of every message; ByteView: bytes that somebody else owns.
//
// Payloads are small (large data goes by reference), so up to 112 bytes stand inside the object, which is two cache
// lines, and allocate nothing; moving one copies these lines. Plain values: owned by whoever holds them, not shared
// between threads while one of them writes. A ByteView is valid as long as the buffer behind it is neither changed nor
// destroyed.
//
// Not boost::container::small_vector: every move of one that g++ 12 can see draws a false -Wstringop-overread, in the
// programs of our users too.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstring>
#include <new>
#include <span>
#include <string_view>

namespace ferry::wire {

using ByteView = std::span<const std::byte>;

// The part of std::vector<std::byte> that messages need.
class Bytes {
 public:
  using value_type = std::byte;
  using size_type = std::size_t;
  using iterator = std::byte*;
  using const_iterator = const std::byte*;

  static constexpr std::size_t kInside = 112;

  Bytes() noexcept {}
  explicit Bytes(std::size_t size, std::byte value = std::byte{0}) : Bytes() { resize(size, value); }
  explicit Bytes(ByteView bytes) : Bytes() { append(bytes); }
  template <class Iterator>
  requires requires(Iterator at) { static_cast<std::byte>(*at); }
  Bytes(Iterator first, Iterator last) : Bytes() { assign(first, last); }
  Bytes(const Bytes& other) : Bytes() { append(other); }
  Bytes(Bytes&& other) noexcept { take(other); }
  Bytes& operator=(const Bytes& other);
  Bytes& operator=(Bytes&& other) noexcept;
  ~Bytes() { release(); }

  std::byte* data() noexcept { return is_inside() ? storage_.inside : storage_.outside; }
  const std::byte* data() const noexcept { return is_inside() ? storage_.inside : storage_.outside; }
  std::size_t size() const noexcept { return size_; }
  std::size_t capacity() const noexcept { return capacity_; }
  bool empty() const noexcept { return size_ == 0; }
  std::byte* begin() noexcept { return data(); }
  std::byte* end() noexcept { return data() + size_; }
  const std::byte* begin() const noexcept { return data(); }
  const std::byte* end() const noexcept { return data() + size_; }
  std::byte& operator[](std::size_t index) noexcept { return data()[index]; }
  const std::byte& operator[](std::size_t index) const noexcept { return data()[index]; }

  void clear() noexcept { size_ = 0; }
  void reserve(std::size_t capacity) {
    if (capacity > capacity_) {
      grow(capacity - size_);
    }
  }
  void resize(std::size_t size, std::byte value = std::byte{0});
  void push_back(std::byte value) { *extend(1) = value; }
  // `bytes` must not be a view of this buffer.
  void append(ByteView bytes);
  template <class Iterator>
  void assign(Iterator first, Iterator last) {
    clear();
    if constexpr (std::constructible_from<ByteView, Iterator, Iterator>) {
      append(ByteView(first, last));
    } else {
      for (; first != last; ++first) {
        push_back(static_cast<std::byte>(*first));
      }
    }
  }

  // Makes the buffer longer by `count` bytes of unspecified value; returns the first. Invalidates views of the buffer.
  std::byte* extend(std::size_t count) {
    if (count > capacity_ - size_) {
      grow(count);
    }
    std::byte* first = data() + size_;
    size_ += count;
    return first;
  }

  friend bool operator==(const Bytes& left, const Bytes& right) noexcept {
    return left.size_ == right.size_ && (left.size_ == 0 || std::memcmp(left.data(), right.data(), left.size_) == 0);
  }

 private:
  union Storage {
    std::byte* outside = nullptr;
    std::byte inside[kInside];
  };

  bool is_inside() const noexcept { return capacity_ == kInside; }
  void take(Bytes& other) noexcept {
    storage_ = other.storage_;
    size_ = other.size_;
    capacity_ = other.capacity_;
    other.size_ = 0;
    other.capacity_ = kInside;
  }
  void release() noexcept {
    if (!is_inside()) {
      ::operator delete(storage_.outside);
    }
  }
  // Room for at least `count` more bytes, and for twice as many as there was room for.
  void grow(std::size_t count);

  Storage storage_;
  std::size_t size_ = 0;
  std::size_t capacity_ = kInside;
};

static_assert(sizeof(Bytes) == 128);

inline std::byte* extend(Bytes& bytes, std::size_t count) {
  return bytes.extend(count);
}

// The characters of a text as bytes, and the reverse. Views; nothing is copied.
inline ByteView as_bytes(std::string_view text) noexcept {
  return std::as_bytes(std::span(text));
}

inline std::string_view as_text(ByteView bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace ferry::wire
