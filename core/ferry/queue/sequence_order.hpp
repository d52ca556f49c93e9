// SequenceOrder: what the members of a Sequence may do while earlier ones of it are under way, so that they take effect
// in their order on a device of a given class (README.md, "Sequences").
//
// One lane carries all members that are under way at one time. Guarded by the connection's lock.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <ferry/queue/device.hpp>

namespace ferry::queue {

class SequenceOrder {
 public:
  // command: the owner's CPU executes it when its receive completes. get: NIC atomics too.
  enum class Kind : std::uint8_t { put, get, command };

  // True for a sequence of which a member has failed: later ones must not be started.
  bool has_failed(std::uint64_t id) const noexcept;

  // A member was started: the lane it goes to, `first` unless others are under way already.
  std::uint8_t enter(std::uint64_t id, std::uint8_t first);

  // May this kind of request be posted now, behind what was?
  bool may_post(std::uint64_t id, Kind kind, OrderClass order) const noexcept;
  // It must wait for gets of earlier members. own: gets of the asking member that are under way.
  bool is_fenced(std::uint64_t id, std::uint32_t own) const noexcept;

  // A request of a member was posted; counted: an earlier one of the same member was.
  void posted(std::uint64_t id, Kind kind, bool counted) noexcept;
  void get_ended(std::uint64_t id) noexcept;

  // A member has failed; member: grows in their order.
  void fail(std::uint64_t id, std::uint64_t member) noexcept;
  // True if one before this member has failed while it was under way itself.
  bool has_failed_before(std::uint64_t id, std::uint64_t member) const noexcept;
  // A member has ended. counted: a request of it was posted. True: the sequence has failed and this was the last one
  // under way.
  bool ended(std::uint64_t id, bool counted) noexcept;

 private:
  enum class Phase : std::uint8_t { idle, gets, puts, commands };
  struct Entry {
    std::uint64_t id = 0;
    std::uint8_t lane = 0;
    Phase phase = Phase::idle;
    bool failed = false;
    std::uint64_t failed_at = 0;  // the member
    std::uint32_t members = 0;    // under way
    std::uint32_t posted = 0;     // of these
    std::uint32_t gets = 0;       // requests
  };

  const Entry* find(std::uint64_t id) const noexcept;
  Entry* find(std::uint64_t id) noexcept;

  std::vector<Entry> entries_;
  // Failed ones of which nothing is under way, in case that somebody who has not noticed yet starts a member.
  std::array<std::uint64_t, 256> failed_{};
  std::size_t next_failed_ = 0;
};

}  // namespace ferry::queue
