// Workload: what is measured: which operation, how large, how many. A dumb value.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rdma_pingpong {

enum class Op : std::uint8_t { read, write, fetch_add, compare_swap, call };

// "read", "fetch_add", …
std::string_view to_string(Op op) noexcept;
std::optional<Op> op_from_string(std::string_view name) noexcept;

constexpr bool is_atomic(Op op) noexcept {
  return op == Op::fetch_add || op == Op::compare_swap;
}

struct Workload {
  Op op = Op::read;
  // Bytes that one operation moves; of a call: each way. Atomics always move 8: here it is the size of the array of
  // words that they go through in turn.
  std::uint64_t size = 8;
  std::uint64_t depth = 1;       // operations under way at once
  std::uint64_t iterations = 0;  // operations in all
  std::uint64_t warmup = 0;      // before that, not measured
  bool verify = false;

  constexpr std::uint64_t bytes_moved() const noexcept { return is_atomic(op) ? sizeof(std::uint64_t) : size; }
};

}  // namespace rdma_pingpong
