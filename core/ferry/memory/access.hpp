// Access: what a reference permits; MemoryKind and AtomicDomain: what kind of memory it names. Wire values.
#pragma once

#include <cstdint>
#include <string>

namespace ferry {

enum class Access : std::uint8_t {
  none = 0,
  read = 1,    // read_into
  write = 2,   // write_from
  atomic = 4,  // fetch_add, compare_swap, swap
  all = 7,
};

constexpr Access operator|(Access a, Access b) noexcept {
  return static_cast<Access>(static_cast<std::uint8_t>(a) | static_cast<std::uint8_t>(b));
}
constexpr Access operator&(Access a, Access b) noexcept {
  return static_cast<Access>(static_cast<std::uint8_t>(a) & static_cast<std::uint8_t>(b));
}
// True if `granted` has every right in `needed`.
constexpr bool permits(Access granted, Access needed) noexcept {
  return (granted & needed) == needed;
}

// "read|write", "none".
std::string to_string(Access access);

enum class MemoryKind : std::uint8_t {
  host = 1,     // ordinary memory of the owner process
  dma_buf = 2,  // a device's memory exported as a file descriptor; no transport of this version reaches it
};

enum class AtomicDomain : std::uint8_t {
  cpu = 0,  // atomic among all transports and the owner's std::atomic_ref
  nic = 1,  // atomic among operations of one NIC only
};

}  // namespace ferry
