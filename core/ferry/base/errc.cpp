#include <ferry/base/errc.hpp>

#include <array>
#include <string>

namespace ferry {
namespace {

struct Entry {
  std::string_view name;
  std::string_view meaning;
};

constexpr std::array<Entry, kErrcLast + 1> kEntries{{
    {"unknown", "not a ferry error"},
    {"invalid_argument", "an argument cannot be used"},
    {"invalid_range", "the range does not lie inside the region"},
    {"misaligned", "the address or offset is not aligned as the operation needs"},
    {"access_denied", "the reference does not carry the right that the operation needs"},
    {"revoked", "the memory behind the reference was revoked by its owner"},
    {"stale_incarnation", "the process that issued the reference has been replaced"},
    {"not_executed", "the operation was not executed because an earlier one of its sequence failed"},
    {"peer_lost", "the peer process is gone"},
    {"peer_unreachable", "no connection to the peer could be made"},
    {"outcome_unknown", "the operation may or may not have taken effect"},
    {"timed_out", "the limit passed before the operation ended"},
    {"cancelled", "the operation was cancelled"},
    {"overloaded", "the receiver has no room"},
    {"too_large", "the message is larger than a frame may be"},
    {"unsupported", "the transport or the memory cannot do this"},
    {"malformed", "the bytes are not what the format says"},
    {"resource_exhausted", "a limit of this host or process was reached"},
    {"actor_stopped", "the actor has stopped"},
    {"no_such_actor", "there is no such actor"},
    {"no_such_actor_class", "the program does not list this actor class"},
    {"no_such_endpoint", "the actor class has no such endpoint"},
    {"name_in_use", "the name is taken"},
    {"endpoint_failed", "the endpoint threw an exception"},
    {"would_deadlock", "waiting would never end"},
    {"spawn_failed", "the process could not be started"},
    {"address_in_use", "the address is taken"},
    {"version_mismatch", "the two sides speak different versions"},
    {"not_authorised", "the peer does not know the secret of this job"},
    {"wrong_process", "the object was created in another process"},
    {"shut_down", "the node is shutting down"},
}};

const Entry& entry_of(int value) noexcept {
  return value > 0 && value <= kErrcLast ? kEntries[static_cast<std::size_t>(value)] : kEntries[0];
}

class Category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "ferry"; }
  std::string message(int value) const override { return std::string(entry_of(value).meaning); }
};

}  // namespace

std::string_view to_string(errc code) noexcept {
  return entry_of(static_cast<int>(code)).name;
}

const std::error_category& error_category() noexcept {
  static const Category category;
  return category;
}

std::error_code make_error_code(errc code) noexcept {
  return {static_cast<int>(code), error_category()};
}

}  // namespace ferry
