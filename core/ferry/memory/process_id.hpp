// ProcessId: one life of one process. Two lives at the same address differ in the incarnation.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace ferry {

struct ProcessId {
  std::uint64_t id = 0;           // unique within the job; 0: none
  std::uint64_t incarnation = 0;  // random per life

  constexpr explicit operator bool() const noexcept { return id != 0; }
  friend constexpr auto operator<=>(const ProcessId&, const ProcessId&) noexcept = default;
};

// "3f2a/9c01d2e4": id and the incarnation's last 32 bits, hexadecimal; for people, not to be parsed.
std::string to_string(ProcessId id);

}  // namespace ferry

template <>
struct std::hash<ferry::ProcessId> {
  std::size_t operator()(const ferry::ProcessId& id) const noexcept {
    return static_cast<std::size_t>(id.id * 0x9e3779b97f4a7c15ULL ^ id.incarnation);
  }
};
