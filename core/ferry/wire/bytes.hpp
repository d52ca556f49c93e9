// Bytes: the buffer of every message; ByteView: bytes that somebody else owns.
//
// Payloads are small (large data goes by reference), so up to 112 bytes stand inside the object and allocate nothing.
// Both are plain values: owned by whoever holds them, not shared between threads while one of them writes.
// A ByteView is valid as long as the buffer behind it is neither changed nor destroyed.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include <boost/container/small_vector.hpp>

namespace ferry::wire {

using Bytes = boost::container::small_vector<std::byte, 112>;
using ByteView = std::span<const std::byte>;

// Makes `bytes` longer by `count` bytes of unspecified value; returns the first of them. Invalidates views of `bytes`.
inline std::byte* extend(Bytes& bytes, std::size_t count) {
  const std::size_t size = bytes.size();
  bytes.resize(size + count, boost::container::default_init);
  return bytes.data() + size;
}

// The characters of a text as bytes, and the reverse. Views; nothing is copied.
inline ByteView as_bytes(std::string_view text) noexcept {
  return std::as_bytes(std::span(text));
}

inline std::string_view as_text(ByteView bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace ferry::wire
