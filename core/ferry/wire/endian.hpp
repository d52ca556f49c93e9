// Integers of a given byte order at unaligned addresses: little-endian in ferry's fixed headers, big-endian in
// MessagePack.
//
// Not bounds-checked: Reader, Writer, Encoder and Decoder are. Each call is one move, with a byte swap where needed.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ferry::wire {

// Compilers recognise the shifts as one instruction. (std::byteswap is C++23.)
template <std::unsigned_integral T>
constexpr T swap_bytes(T value) noexcept {
  if constexpr (sizeof(T) == 1) {
    return value;
  } else if constexpr (sizeof(T) == 2) {
    return static_cast<T>((value << 8) | (value >> 8));
  } else if constexpr (sizeof(T) == 4) {
    return ((value & 0xffU) << 24) | ((value & 0xff00U) << 8) | ((value >> 8) & 0xff00U) | (value >> 24);
  } else {
    static_assert(sizeof(T) == 8);
    const std::uint64_t high = swap_bytes(static_cast<std::uint32_t>(value));
    return (high << 32) | swap_bytes(static_cast<std::uint32_t>(value >> 32));
  }
}

template <std::unsigned_integral T, std::endian Order>
T load(const std::byte* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof value);
  return Order == std::endian::native ? value : swap_bytes(value);
}

template <std::endian Order, std::unsigned_integral T>
void store(std::byte* to, T value) noexcept {
  const T ordered = Order == std::endian::native ? value : swap_bytes(value);
  std::memcpy(to, &ordered, sizeof ordered);
}

template <std::unsigned_integral T>
T load_little(const std::byte* from) noexcept {
  return load<T, std::endian::little>(from);
}

template <std::unsigned_integral T>
void store_little(std::byte* to, T value) noexcept {
  store<std::endian::little>(to, value);
}

template <std::unsigned_integral T>
T load_big(const std::byte* from) noexcept {
  return load<T, std::endian::big>(from);
}

template <std::unsigned_integral T>
void store_big(std::byte* to, T value) noexcept {
  store<std::endian::big>(to, value);
}

}  // namespace ferry::wire
