// Profile: what a queue promises about order, as one table of "may this step go before that one".
//
// The table is the whole difference between profiles; everything else of the machine is the same for all. A row says
// for one sub-action of a chunk which unfinished things before it, on the same queue, hold it back. A further profile
// is a further table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <ferry/sim/litmus/program.hpp>

namespace ferry::sim::litmus {

// The step from one stage of a chunk to the next.
enum class SubAction : std::uint8_t {
  put_read,       // put 0→1: the local location is read
  put_write,      // put 1→2: a write toward the remote location is appended
  get_read,       // get 0→1: the remote location is read
  get_result,     // get 1→2: a write toward the local location is appended
  atomic_read,    // atomic 0→1 (glob: 0→2): the remote location is read, the owner's atomic unit taken
  atomic_write,   // atomic 1→2: the remote location is written, the unit released
  atomic_result,  // atomic 2→3: a write of the old value toward the local location is appended
};
inline constexpr std::size_t kSubActions = 7;

// Which of the things of one kind that lie before it hold a step back.
enum class Extent : std::uint8_t { none, same_location, all };

struct Profile {
  struct Row {
    Extent writes_under_way;  // data on its way to the memory that the step reads, not committed yet
    Extent put_reads;         // chunks of earlier puts that have not read; same_location compares local ones
    Extent put_writes;        // chunks of earlier puts that have not written; remote ones
    Extent atomic_writes;     // earlier atomics that have not written; remote ones
    Extent results;           // chunks of earlier gets and atomics that are not finished; local ones
  };

  ProfileName name;
  std::array<Row, kSubActions> rows;  // by SubAction
  Extent commits;                     // data before it in its list that a commit may not pass; completions never are

  const Row& row(SubAction action) const noexcept { return rows[static_cast<std::size_t>(action)]; }
};

const Profile& profile_of(ProfileName name) noexcept;

}  // namespace ferry::sim::litmus
