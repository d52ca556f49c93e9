// SequenceGate: keeps the members of each Sequence in order at their initiator, and ends it at the first failure.
//
// Small members go out in the order of their start. One that is posted in turns with others (bulk) goes out alone: what
// follows it waits at the gate until it has passed (a write: was posted, a read: was answered). Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <ferry/tcp/pending.hpp>

namespace ferry::tcp {

class SequenceGate {
 public:
  // True for a sequence of which a member has failed: later ones must not be started.
  bool has_failed(std::uint64_t id) const noexcept;

  // A member was started; where it goes: waiting, bulk or gated.
  Pending::Place enter(std::uint64_t id, bool is_bulk);
  // The same for one that stood at the gate.
  Pending::Place enter_again(std::uint64_t id, bool is_bulk) noexcept;
  // It has left `place`: true if those at the gate should be looked at.
  bool leave(std::uint64_t id, Pending::Place place) noexcept;
  // All those at the gate are about to enter again.
  void open_gates() noexcept;

  void fail(std::uint64_t id) noexcept;
  // A member has ended. True: the sequence has failed, this was the last one under way, the owner may forget it.
  bool ended(std::uint64_t id) noexcept;

  // The channel broke: sequences that were under way have failed.
  void fail_all() noexcept;

 private:
  struct Entry {
    std::uint64_t id = 0;
    std::uint32_t members = 0;  // under way
    std::uint32_t waiting = 0;
    std::uint32_t bulk = 0;
    std::uint32_t gated = 0;
    bool failed = false;
  };

  Entry* find(std::uint64_t id) noexcept;
  void remember(std::uint64_t id) noexcept;
  static Pending::Place place_of(Entry& entry, bool is_bulk) noexcept;

  std::vector<Entry> entries_;
  // Failed ones of which nothing is under way, in case that somebody who has not noticed yet starts a member.
  std::array<std::uint64_t, 256> failed_{};
  std::size_t next_failed_ = 0;
};

}  // namespace ferry::tcp
