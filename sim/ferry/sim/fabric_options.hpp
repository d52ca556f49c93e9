// FabricOptions: the knobs of the simulated fabric. Profile: how a packet's delay varies, as a table.
//
// Plain values, set before the world starts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ferry/base/failure.hpp>
#include <ferry/base/limits.hpp>
#include <ferry/base/time.hpp>

namespace ferry::sim {

// A packet's delay is the plain one times numerator / denominator of a row; each packet draws a row.
struct DelayRow {
  std::uint32_t numerator = 1;
  std::uint32_t denominator = 1;
};

struct Profile {
  std::string_view name;
  std::array<DelayRow, 8> delays{};  // row 0 is the plain delay; 0/1 lets a packet arrive at the instant it is sent
};

// No order between operations, nor inside one: only what the contract promises.
inline constexpr Profile kPortable{"portable", {{{1, 1}, {0, 1}, {1, 8}, {1, 2}, {2, 1}, {4, 1}, {16, 1}, {64, 1}}}};

struct FabricOptions {
  const Profile* profile = &kPortable;
  Duration latency = std::chrono::microseconds(1);     // of an empty packet, one way; at least zero
  std::uint64_t bytes_per_microsecond = 10'000;        // of one packet, behind its latency; at least 1
  std::size_t granule = 8;                             // bytes that never tear when aligned: 1, 8 or 64
  std::size_t piece_bytes = 4096;                      // of a packet at most: granule … limits::kPieceBytes
  std::size_t window_pieces = limits::kWindowPieces;   // of one operation, under way at a time; at least 1
  Duration hold = std::chrono::seconds(1);             // how long a transmitted write may stay, unless flushed
  Duration start_time = std::chrono::milliseconds(1);  // from ProcessHost::start to the child's first step
};

// invalid_argument, naming the option that is out of its range; none if all are in it.
Failure check(const FabricOptions& options);

}  // namespace ferry::sim
