#include <ferry/buffer/members.hpp>

#include <ferry/buffer/members_awaiter.hpp>
#include <ferry/transport/node_core.hpp>

namespace ferry {

Result<std::uint64_t> Outcomes::operator[](std::size_t index) const {
  const detail::Member& member = members_->at(index);
  if (member.operation.failure) {
    return detail::explain_failure(member.operation, member.operation.failure, member.peer);
  }
  return member.operation.result;
}

std::optional<std::size_t> Outcomes::first_failure() const noexcept {
  for (std::size_t index = 0; index < members_->size(); ++index) {
    if ((*members_)[index].operation.failure) {
      return index;
    }
  }
  return std::nullopt;
}

bool Outcomes::all_succeeded() const noexcept {
  return !first_failure();
}

void Outcomes::throw_if_failed() const {
  if (const auto index = first_failure()) {
    throw Error((*this)[*index].error());
  }
}

namespace detail {

MembersAwaiter::~MembersAwaiter() {
  end();
  if (pending_.load(std::memory_order_acquire) == 0) {
    return;
  }
  for (Member& member : members_) {
    if (member.peer->abandon(member.operation)) {
      one_less();
    }
  }
  while (!is_woken()) {  // completions on the way, on other threads
  }
}

bool MembersAwaiter::await_ready() noexcept {
  std::size_t moved = 0;
  for (Member& member : members_) {
    Operation& operation = member.operation;
    operation.failure = check_request(operation);
    if (operation.failure) {
      continue;
    }
    if (operation.notify) {
      count_notification(*member.peer);
    }
    operation.on_complete = &MembersAwaiter::completed;
    operation.starter = this;
    pending_.fetch_add(1, std::memory_order_relaxed);
    if (member.peer->start(operation) == Started::complete) {
      pending_.fetch_sub(1, std::memory_order_relaxed);
      moved += operation.single.length;
    }
  }
  InlineBudget::current().spend(moved);
  return pending_.load(std::memory_order_acquire) == 1 && pending_.exchange(0, std::memory_order_acquire) == 1;
}

bool MembersAwaiter::await_suspend(std::coroutine_handle<> handle) {
  begin(handle, limits_, members_.front().peer->node().limits().no_progress);
  one_less();
  return commit();
}

void MembersAwaiter::completed(Operation& operation) noexcept {
  static_cast<MembersAwaiter*>(operation.starter)->one_less();
}

void MembersAwaiter::give_up(errc reason) noexcept {
  const Failure why(reason, reason == errc::timed_out ? "it did not end, or nothing of it moved, within the limit"
                                                      : "a stop was requested");
  for (Member& member : members_) {
    member.peer->cancel(member.operation, why);  // does nothing for those that have ended
  }
}

bool MembersAwaiter::has_progressed() noexcept {
  std::uint64_t now = 0;
  for (const Member& member : members_) {
    now += member.operation.progress.load(std::memory_order_relaxed) + 1;
  }
  now -= pending_.load(std::memory_order_relaxed);
  return std::exchange(progress_seen_, now) != now;
}

}  // namespace detail
}  // namespace ferry
