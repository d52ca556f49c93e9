#include <ferry/buffer/members.hpp>

#include <algorithm>
#include <utility>

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

void refuse_limits() {
  throw Error(Failure(errc::invalid_argument,
                      "a member of a batch or sequence has no timeout or stop of its own; give them to run()")
                  .during("add"));
}

void refuse_second_run(const char* what) {
  throw Error(Failure(errc::invalid_argument, "it was run before; make another").during(what));
}

MembersAwaiter::~MembersAwaiter() {
  end();
  if (!is_started_) {
    return;
  }
  if (!is_suspended_) {
    one_less();  // the starting itself, which await_suspend() did not come to
  }
  for (Member& member : members_) {
    if (member.is_pending && member.peer->abandon(member.operation)) {
      one_less();
    }
  }
  // Completions on the way on other threads; the last one touches this until it has woken it.
  while (!is_woken()) {
  }
}

bool MembersAwaiter::await_ready() noexcept {
  if (const Failure why = refusal(limits_)) {
    for (Member& member : members_) {
      member.operation.failure = why;
    }
    return true;
  }
  std::uint64_t moved = 0;
  for (Member& member : members_) {
    Operation& operation = member.operation;
    operation.failure = admit(operation, member.peer);
    if (operation.failure) {
      continue;
    }
    if (operation.notify) {
      count_notification(*member.peer);
    }
    operation.on_complete = &MembersAwaiter::completed;
    operation.starter = this;
    member.is_pending = true;
    pending_.fetch_add(1, std::memory_order_relaxed);
    if (member.peer->start(operation) == Started::complete) {
      member.is_pending = false;
      pending_.fetch_sub(1, std::memory_order_relaxed);
      const std::uint64_t bytes = operation.bytes();
      moved += std::min(bytes, ~moved);
    } else {
      is_started_ = true;
    }
  }
  return !is_started_ && !should_yield(moved);
}

bool MembersAwaiter::await_suspend(std::coroutine_handle<> handle) {
  if (!is_started_) {
    yield(handle);  // all ended in place, and others shall run
    return true;
  }
  progress_seen_ = progress() + 1;  // the starting itself ends below
  const auto live =
      std::find_if(members_.begin(), members_.end(), [](const Member& member) { return member.is_pending; });
  begin(handle, limits_, live->peer->node().limits().no_progress);
  is_suspended_ = true;
  one_less();
  return commit();
}

void MembersAwaiter::await_resume() noexcept {
  end();
  is_started_ = false;
}

void MembersAwaiter::completed(Operation& operation) noexcept {
  static_cast<MembersAwaiter*>(operation.starter)->one_less();
}

void MembersAwaiter::give_up(Waiter& waiter, errc reason) noexcept {
  const Failure why = given_up(reason, "it did not end, or nothing of it moved, within the limit");
  for (Member& member : static_cast<MembersAwaiter&>(waiter).members_) {
    if (member.is_pending) {
      member.peer->cancel(member.operation, why);  // does nothing for those that have ended
    }
  }
}

// Grows whenever a piece has moved or a member has ended.
std::uint64_t MembersAwaiter::progress() const noexcept {
  std::uint64_t now = members_.size() - pending_.load(std::memory_order_relaxed);
  for (const Member& member : members_) {
    now += member.operation.progress.load(std::memory_order_relaxed);
  }
  return now;
}

bool MembersAwaiter::has_progressed(Waiter& waiter) noexcept {
  auto& self = static_cast<MembersAwaiter&>(waiter);
  const std::uint64_t now = self.progress();
  return std::exchange(self.progress_seen_, now) != now;
}

}  // namespace detail
}  // namespace ferry
