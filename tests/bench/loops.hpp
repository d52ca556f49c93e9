// Loops that several sections time: one-sided operations through the public API, each awaited before the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <ferry/ferry.hpp>

#include "counters.hpp"
#include "mapping.hpp"
#include "partner.hpp"

namespace ferry_bench {

inline constexpr std::size_t kSizes[] = {8, 4 << 10, 64 << 10, 1 << 20, 64 << 20};
inline constexpr int kRepeats = 5;  // loops of a figure in one run

// Operations that fill a few milliseconds, if each takes `each` nanoseconds and a nanosecond for `per_ns` bytes.
std::uint64_t loop_length(std::size_t bytes, double each, double per_ns) noexcept;

// Nanoseconds per operation.
ferry::Task<double> time_reads(ferry::BufferRef remote, std::span<std::byte> local, std::uint64_t count);
ferry::Task<double> time_writes(ferry::BufferRef remote, std::span<std::byte> local, std::uint64_t count);
ferry::Task<double> time_echoes(PartnerRef partner, std::uint64_t count);

// Nanoseconds per round trip by 8-byte writes into memory that the other end polls.
class PingPong {
 public:
  PingPong(ferry::Context context, PartnerRef partner);
  ferry::Task<void> prepare();
  const ferry::BufferRef& there() const noexcept { return there_; }
  ferry::Task<double> time_ferry(std::uint64_t rounds);
  // Stores into memory that both map; the processes, threads and the loop are the same.
  ferry::Task<double> time_bare(std::uint64_t rounds);

 private:
  PartnerRef partner_;
  ferry::vector<Line> line_ = ferry::vector<Line>(1);
  ferry::RDMABuffer buffer_;
  ferry::BufferRef there_;
  Mapping mapping_;
  std::uint64_t word_ = 0;
  std::uint64_t bare_word_ = 0;
};

// Counts what a loop costs besides time: system calls of both processes, allocations of this one.
class CostMeter {
 public:
  explicit CostMeter(pid_t partner);
  // Since the start, per operation.
  void report(const std::string& name, std::uint64_t operations);

 private:
  std::optional<SystemCallCounter> calls_;
  std::uint64_t allocations_;
};

}  // namespace ferry_bench
