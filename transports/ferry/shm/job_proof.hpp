// job_proof: shows that a process knows the job's secret without telling it: HMAC-SHA256 over what both sides said.
//
// Each side proves over a random number of the other's, so that nothing recorded earlier proves anything, and over its
// role, so that a proof cannot be sent back to its maker. Pure functions, but for fresh_nonce().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <ferry/memory/process_id.hpp>
#include <ferry/transport/node_core.hpp>

namespace ferry::shm {

using Nonce = std::array<std::byte, 32>;
using Proof = std::array<std::byte, 32>;

// What both sides know before they prove.
struct Meeting {
  std::uint16_t version = 0;
  ProcessId initiator{};
  ProcessId owner{};
  Nonce initiator_nonce{};
  Nonce owner_nonce{};
};

enum class Role : std::uint8_t { initiator = 1, owner = 2 };

Proof prove(const JobSecret& secret, Role role, const Meeting& meeting);
// In constant time.
bool is_proof(const JobSecret& secret, Role role, const Meeting& meeting, const Proof& proof) noexcept;

// From the system's random numbers.
Nonce fresh_nonce();

}  // namespace ferry::shm
