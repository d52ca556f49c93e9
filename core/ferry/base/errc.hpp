// errc: every way in which a ferry operation can fail, as a std::error_code.
//
// Values are part of the wire format (they travel in replies): never renumbered, only appended.
// A code says what kind of failure it was; the text that explains the particular case is in Failure and Error.
#pragma once

#include <cstdint>
#include <string_view>
#include <system_error>

namespace ferry {

enum class errc : std::uint8_t {
  invalid_argument = 1,
  invalid_range = 2,
  misaligned = 3,
  access_denied = 4,
  revoked = 5,
  stale_incarnation = 6,
  not_executed = 7,
  peer_lost = 8,
  peer_unreachable = 9,
  outcome_unknown = 10,
  timed_out = 11,
  cancelled = 12,
  overloaded = 13,
  too_large = 14,
  unsupported = 15,
  malformed = 16,
  resource_exhausted = 17,
  actor_stopped = 18,
  no_such_actor = 19,
  no_such_actor_class = 20,
  no_such_endpoint = 21,
  name_in_use = 22,
  endpoint_failed = 23,
  would_deadlock = 24,
  spawn_failed = 25,
  address_in_use = 26,
  version_mismatch = 27,
  not_authorised = 28,
  wrong_process = 29,
  shut_down = 30,
};

inline constexpr std::uint8_t kErrcLast = 30;

// The enumerator's name, "revoked" for errc::revoked; "unknown" for a value outside the enumeration.
std::string_view to_string(errc code) noexcept;

// The category of every ferry error; its name is "ferry".
const std::error_category& error_category() noexcept;

std::error_code make_error_code(errc code) noexcept;

}  // namespace ferry

template <>
struct std::is_error_code_enum<ferry::errc> : std::true_type {};
