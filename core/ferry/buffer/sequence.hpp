// Sequence: operations at one owner that take effect in the order of adding, pipelined where the fabric allows.
//
//   ferry::Sequence sequence;
//   sequence.add(data.write_from(bytes));  sequence.add(flag.write_from(one));
//   ferry::Outcomes outcomes = co_await sequence.run();
//
// Fail-stop: after the first member that fails, later ones end not_executed (or outcome_unknown where the fabric cannot
// tell). None is started again after a broken channel, and none on another channel than those before it. A member must
// not read local bytes that an earlier member writes, all members must belong to one owner, and timeout and stop are
// given to run(): invalid_argument. Used by one thread at a time; runs once.
#pragma once

#include <ferry/base/task.hpp>
#include <ferry/buffer/members.hpp>

namespace ferry {

class Sequence {
 public:
  explicit Sequence(std::size_t reserve = 0) { members_.reserve(reserve); }

  template <class T>
  void add(const BasicTransfer<T>& transfer) {
    members_.push_back(detail::member_of(transfer));
  }
  std::size_t size() const noexcept { return members_.size(); }

  // Throws Error (invalid_argument) before anything is started; failed members do not throw, see Outcomes.
  Task<Outcomes> run(Limits limits = {});

 private:
  void check() const;

  std::vector<detail::Member> members_;
  bool has_run_ = false;
};

}  // namespace ferry
