// Fault: a kind of thing that goes wrong in a world. Faults: a set of them, as ExploreOptions::swarm takes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <ferry/base/result.hpp>

namespace ferry::sim {

enum class Fault : std::uint8_t {
  crash,               // of a process, or a host with all of its processes
  pause,               // a process does nothing for a while; its memory stays, and can be read and written
  drift,               // its clock runs up to a tenth faster or slower
  spawn_failure,       // the system starts no process
  registration_fails,  // the system has no locked memory left
  mailbox_full,        // try_send finds no room
  endpoint_throws,     // an endpoint ends by an exception before it has begun
  buggify,             // code takes the unusual ways that ferry::buggify() names
  loss,                // packets get lost
  duplication,         // packets arrive twice
  lateness,            // packets are late
  slow_nics,           // NICs idle before they send
  partition,           // nothing gets from one host or process to another one, or both ways, for a while
};
inline constexpr std::size_t kFaults = 13;
std::string_view to_string(Fault fault) noexcept;

class Faults {
 public:
  constexpr Faults() noexcept = default;
  constexpr Faults(Fault fault) noexcept : bits_(1U << static_cast<unsigned>(fault)) {}  // NOLINT: a fault is a set

  static const Faults none;
  static const Faults all;

  constexpr bool has(Fault fault) const noexcept { return (bits_ >> static_cast<unsigned>(fault) & 1U) != 0; }
  constexpr bool is_empty() const noexcept { return bits_ == 0; }
  constexpr Faults without(Faults others) const noexcept { return Faults(bits_ & ~others.bits_); }
  friend constexpr Faults operator|(Faults a, Faults b) noexcept { return Faults(a.bits_ | b.bits_); }
  friend constexpr bool operator==(Faults, Faults) noexcept = default;

 private:
  constexpr explicit Faults(std::uint32_t bits) noexcept : bits_(bits) {}
  std::uint32_t bits_ = 0;
};

constexpr Faults operator|(Fault a, Fault b) noexcept {
  return Faults(a) | Faults(b);
}

inline constexpr Faults Faults::none{};
inline constexpr Faults Faults::all{(std::uint32_t{1} << kFaults) - 1};

// "crash,pause", "none". malformed: a word that is no fault.
std::string to_text(Faults faults);
Result<Faults> parse_faults(std::string_view text);

}  // namespace ferry::sim
