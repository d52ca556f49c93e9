// PartialOrder: a strict partial order of a few events, always transitively closed; adding what would close a cycle
// fails.
//
// A value that is copied at every branch of the search for candidate executions: a bit matrix of fixed size.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>

namespace ferry::sim::litmus::axioms {

using EventIndex = std::size_t;

inline constexpr std::size_t kMaxEvents = 128;

struct Edge {
  EventIndex before = 0;
  EventIndex after = 0;
};

class PartialOrder {
 public:
  explicit PartialOrder(std::size_t events) noexcept : events_(events) {}

  bool is_before(EventIndex one, EventIndex other) const noexcept { return after_[one][other]; }
  bool is_decided(EventIndex one, EventIndex other) const noexcept {
    return is_before(one, other) || is_before(other, one);
  }

  // False, and unchanged, if the edge contradicts the order.
  bool add(const Edge& edge) noexcept {
    const auto [before, after] = edge;
    if (before == after || is_before(after, before)) {
      return false;
    }
    if (!is_before(before, after)) {
      Set reached = after_[after];
      reached.set(after);
      for (EventIndex event = 0; event < events_; ++event) {
        if (event == before || is_before(event, before)) {
          after_[event] |= reached;
        }
      }
    }
    return true;
  }

  // How many events come after it: descending numbers give a linear extension.
  std::size_t successors(EventIndex event) const noexcept { return after_[event].count(); }

 private:
  using Set = std::bitset<kMaxEvents>;

  std::size_t events_;
  std::array<Set, kMaxEvents> after_;  // by event: all that come after it
};

}  // namespace ferry::sim::litmus::axioms
