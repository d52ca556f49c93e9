// The owner's side of a one-sided access, for every transport that executes on the owner's CPU: what the initiator
// asked for, done to pinned memory, never splitting an aligned 8-byte word.
//
// Copies here may race with the owner's own accesses and with other copies: that is what one-sided access means
// (contract: no snapshot). They are the only racing copies in ferry, compiled so that sanitizers accept them.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ferry/base/result.hpp>
#include <ferry/memory/region_table.hpp>

namespace ferry {

// A copy that is part of a transfer of this many bytes leaves the caches alone: neither side would stay in them.
inline constexpr std::uint64_t kStreamingBytes = std::uint64_t{16} << 20;

// Copies so that no 8-byte word which is aligned on both sides is read or written in parts. Source and destination do
// not overlap. For any lengths and alignments; as fast as memcpy. `total` is the length of the transfer of which this
// copy is a piece. All of it is visible to other processes before any later store of this thread.
void copy_words(std::byte* to, const std::byte* from, std::size_t count, std::uint64_t total) noexcept;
inline void copy_words(std::byte* to, const std::byte* from, std::size_t count) noexcept {
  copy_words(to, from, count, count);
}

enum class AtomicKind : std::uint8_t { fetch_add, compare_swap, swap };

// Executes on an aligned word with a lock-prefixed instruction; returns the old value.
std::uint64_t execute_atomic(AtomicKind kind, std::byte* word, std::uint64_t operand, std::uint64_t expected) noexcept;

// Piecewise, re-checking the region before each piece: for the owner itself and for requests served by its progress
// thread. `local` is the initiator's memory, in this process.
Result<void> copy_from_region(RegionTable& regions, RegionHandle region, std::uint64_t offset, std::byte* local,
                              std::uint64_t length);
Result<void> copy_to_region(RegionTable& regions, RegionHandle region, std::uint64_t offset, const std::byte* local,
                            std::uint64_t length);
// misaligned, if the word is not aligned to 8 bytes.
Result<std::uint64_t> atomic_on_region(RegionTable& regions, RegionHandle region, std::uint64_t offset, AtomicKind kind,
                                       std::uint64_t operand, std::uint64_t expected);

}  // namespace ferry
