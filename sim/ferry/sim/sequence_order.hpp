// SequenceOrder: lets the members of each Sequence on one connection take effect one after another, and skips those
// behind a failed one. Internal to the fabric.
//
// Owner: the connection. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>

namespace ferry::sim {

class Flight;

class SequenceOrder {
 public:
  enum class Entry : unsigned char { runs, waits, skipped };

  // A member was started, behind all that were started before.
  Entry enter(Flight& member);

  // The owner has executed it, or will never: the next one's turn. After a failure the waiting ones are skipped.
  void executed(Flight& member, bool failed);

  // The initiator knows its outcome, or no longer wants it.
  void leave(std::uint64_t sequence) noexcept;

 private:
  struct Line {
    std::deque<Flight*> waiting;  // the first one runs
    std::size_t members = 0;      // whose outcome the initiator does not know yet
    bool failed = false;
  };
  std::map<std::uint64_t, Line> lines_;
};

}  // namespace ferry::sim
