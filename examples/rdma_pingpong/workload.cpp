#include "workload.hpp"

#include <array>
#include <cstddef>

namespace rdma_pingpong {
namespace {

constexpr std::array<std::string_view, 5> kNames{"read", "write", "fetch_add", "compare_swap", "call"};

}  // namespace

std::string_view to_string(Op op) noexcept {
  return kNames[static_cast<std::size_t>(op)];
}

std::optional<Op> op_from_string(std::string_view name) noexcept {
  for (std::size_t index = 0; index < kNames.size(); ++index) {
    if (kNames[index] == name) {
      return static_cast<Op>(index);
    }
  }
  return std::nullopt;
}

}  // namespace rdma_pingpong
