// Ids of a world: strong integers that tell its parts apart, in the order of their making.
#pragma once

#include <compare>
#include <cstdint>

#include <ferry/base/strong_id.hpp>

namespace ferry::sim {

// One life of a simulated process, numbered from 1 in the order of starting.
using ProcessNumber = StrongId<struct ProcessNumberTag, std::uint32_t>;

// Where a process listens; a process that is started again may listen where its former life did.
using Port = StrongId<struct PortTag, std::uint32_t>;

// A queue pair of a simulated NIC, numbered in the whole world; never reused.
using QueueNumber = StrongId<struct QueueNumberTag, std::uint32_t>;

// A machine of the world: processes on it crash together. Numbered from 0, where the world's first process runs.
struct Host {
  std::uint32_t index = 0;
  friend constexpr auto operator<=>(Host, Host) noexcept = default;
};

}  // namespace ferry::sim
