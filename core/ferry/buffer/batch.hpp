// Batch: many independent operations with one await. Every member ends; one failure neither hides nor stops others.
//
//   ferry::Batch batch(3);
//   batch.add(a.read_into(x));  batch.add(b.write_from(y));  batch.add(c.fetch_add(1));
//   ferry::Outcomes outcomes = co_await batch.run();
//
// No order inside. Timeout and stop are given to run(), for all; a member with limits of its own is refused
// (invalid_argument). Used by one thread at a time; runs once. Local memory is borrowed until the end.
#pragma once

#include <ferry/base/task.hpp>
#include <ferry/buffer/members.hpp>

namespace ferry {

class Batch {
 public:
  // reserve: members for which room is made now.
  explicit Batch(std::size_t reserve = 0) { members_.reserve(reserve); }

  template <class T>
  void add(const BasicTransfer<T>& transfer) {
    members_.push_back(detail::member_of(transfer));
  }
  std::size_t size() const noexcept { return members_.size(); }

  // Starts all members and ends when each has. Does not throw for failed members; see Outcomes.
  Task<Outcomes> run(Limits limits = {});

 private:
  std::vector<detail::Member> members_;
  bool has_run_ = false;
};

}  // namespace ferry
