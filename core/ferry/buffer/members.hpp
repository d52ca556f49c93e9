// Members: the operations of a Batch or a Sequence, and their outcomes.
//
// Owned by one Batch or Sequence, used by one thread at a time. add() before the await, outcomes after it. Members do
// not move once the await has begun. With a reserved size nothing is allocated per member.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <ferry/base/result.hpp>
#include <ferry/buffer/transfer.hpp>

namespace ferry {

namespace detail {

struct Member {
  Peer* peer = nullptr;  // null: an empty reference, which is refused
  Operation operation{};
  bool is_pending = false;  // did not end in place; written before the await suspends
};

[[noreturn]] void refuse_limits();
[[noreturn]] void refuse_second_run(const char* what);

// The operation as a member. Throws Error (invalid_argument) where it has limits of its own: they belong to run().
template <class T>
Member member_of(const BasicTransfer<T>& transfer) {
  if (transfer.has_limits()) {
    refuse_limits();
  }
  return Member{transfer.peer(), Operation(transfer.request())};
}
// Waits until a number of started operations have ended; gives up by cancelling all of them.
class MembersAwaiter;

}  // namespace detail

// The outcome of each member in the order of adding; a view, valid as long as the Batch or Sequence.
class Outcomes {
 public:
  explicit Outcomes(const std::vector<detail::Member>& members) noexcept : members_(&members) {}

  std::size_t size() const noexcept { return members_->size(); }
  // Success with an atomic's old value (0 for the others), or the member's failure.
  Result<std::uint64_t> operator[](std::size_t index) const;
  bool all_succeeded() const noexcept;
  // The index of the first member in order that failed.
  std::optional<std::size_t> first_failure() const noexcept;
  // Throws the first failure, if any.
  void throw_if_failed() const;

 private:
  const std::vector<detail::Member>* members_;
};

}  // namespace ferry
