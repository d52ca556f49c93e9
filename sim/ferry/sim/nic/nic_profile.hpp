// NicProfile: what the simulated NICs of one world promise: the order of the litmus machine's table, and what differs
// beyond order. Values; one place.
#pragma once

#include <array>
#include <string_view>

#include <ferry/queue/device.hpp>
#include <ferry/sim/litmus/profile.hpp>

namespace ferry::sim {

struct NicProfile {
  std::string_view name;
  litmus::ProfileName order;          // of the requests of one queue pair, or (datagrams) of one message
  queue::OrderClass order_class;      // which mechanisms the library uses
  bool is_datagrams = false;          // srd: every message is a queue of its own
  bool completes_unaccepted = false;  // iwarp: a put may complete once its local bytes were read
  bool names_refusals = true;         // iwarp: a refusal closes the queue pair, and does not say which request it was
  bool has_immediates = true;         // on puts
  bool has_atomics = true;
};

inline constexpr std::array<NicProfile, 6> kNicProfiles{{
    {"strict", litmus::ProfileName::strict, queue::OrderClass::strict},
    {"portable", litmus::ProfileName::portable, queue::OrderClass::unordered},
    {"relaxed", litmus::ProfileName::relaxed, queue::OrderClass::unordered},
    {"unordered", litmus::ProfileName::unordered, queue::OrderClass::unordered},
    {.name = "iwarp",
     .order = litmus::ProfileName::portable,
     .order_class = queue::OrderClass::iwarp,
     .completes_unaccepted = true,
     .names_refusals = false,
     .has_immediates = false,
     .has_atomics = false},
    {.name = "srd",
     .order = litmus::ProfileName::portable,
     .order_class = queue::OrderClass::srd,
     .is_datagrams = true,
     .has_atomics = false},
}};
inline constexpr const NicProfile& kPortableNic = kNicProfiles[1];

// Null: there is none of that name.
constexpr const NicProfile* nic_profile(std::string_view name) noexcept {
  for (const NicProfile& profile : kNicProfiles) {
    if (profile.name == name) {
      return &profile;
    }
  }
  return nullptr;
}

}  // namespace ferry::sim
