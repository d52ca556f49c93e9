// Findings: mistakes that a run need not show: two sides touched the same bytes, and nothing ordered them. What kinds
// there are, and what a world makes of them.
//
//   World world({.seed = 7, .findings = FindingMode::fail});
//   world.expect_races(buffer);   // its readers validate what they read (a seqlock): not a finding
//
// Looking changes neither choices nor hashes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ferry::sim {

enum class FindingKind : std::uint8_t {
  read_race,         // an owner's CPU changed bytes while a read of them was in flight (not: of one aligned word)
  unordered_writes,  // a write began while another one of the same bytes was not in memory yet
  local_buffer,      // a local buffer was changed, or used twice, before the operation that uses it had completed
  use_after_revoke,  // of a reference whose region was revoked, or whose owner had ended
  missing_delivery,  // a message or flag arrived before the bytes of an earlier write that was not awaited or flushed
};
inline constexpr std::array<FindingKind, 5> kFindingKinds{FindingKind::read_race, FindingKind::unordered_writes,
                                                          FindingKind::local_buffer, FindingKind::use_after_revoke,
                                                          FindingKind::missing_delivery};

// "read race", "unordered writes", "local buffer", "use after revoke", "missing delivery".
std::string_view to_string(FindingKind kind) noexcept;

enum class FindingMode : std::uint8_t {
  off,     // nobody looks; costs nothing
  report,  // they are collected in WorldResult::findings; the run goes on
  fail,    // the first ends the run: Outcome::finding
};

}  // namespace ferry::sim
