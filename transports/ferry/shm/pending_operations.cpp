#include <ferry/shm/pending_operations.hpp>

#include <algorithm>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace ferry::shm {
namespace {

constexpr std::chrono::microseconds kPause{50};  // between looks of abandon()

}  // namespace

PendingOperations::PendingOperations(ShmNode& node, Connection& connection, ChannelLayout& layout)
    : node_(node), connection_(connection), queue_(layout), grace_(node.core.executor(), *node.poller) {}

bool PendingOperations::add(Operation& operation, Step after, const CopyCursor& cursor) {
  const std::lock_guard lock(mutex_);
  if (ended_) {
    return false;
  }
  busy_.store(true, std::memory_order_relaxed);
  Pending& pending = pending_.emplace_back();
  pending.operation = &operation;
  pending.cursor = cursor;
  pending.took_effect = operation.kind != OperationKind::read && cursor.has_moved();
  operation.connection.store(&connection_, std::memory_order_release);
  if (after == Step::unmapped) {
    pending.stage = Stage::segment;
    pending.wanted = {operation.region.key_for(TransportId::shm)->key, operation.kind != OperationKind::read};
    any_wanted_ = true;
    return true;
  }
  pending.stage = Stage::commands;
  pending.asked_all = after == Step::notify;
  pending.notify_left = operation.notify;
  make_ready(pending);
  submit_waiting();
  return true;
}

PendingOperations::List::iterator PendingOperations::find(const Operation& operation) {
  return std::find_if(pending_.begin(), pending_.end(),
                      [&](const Pending& pending) { return pending.operation == &operation; });
}

// What is being handed back is neither here nor at the Peer.
void PendingOperations::await_hand_back(std::unique_lock<std::mutex>& lock) {
  if (ended_ && ender_ != std::this_thread::get_id()) {
    handed_back_changed_.wait(lock, [this] { return handed_back_; });
  }
}

void PendingOperations::handed_back() {
  {
    const std::lock_guard lock(mutex_);
    handed_back_ = true;
  }
  handed_back_changed_.notify_all();
}

void PendingOperations::cancel(Operation& operation, const Failure& why) {
  {
    std::unique_lock lock(mutex_);
    await_hand_back(lock);
    const auto at = find(operation);
    if (at == pending_.end() || at->cancelled || at->abandoned) {
      return;
    }
    at->cancelled = true;
    if (!at->failure) {
      at->failure = why;
    }
    take_back(*at);
    if (at->outstanding == 0) {
      finish(*at);
    } else {
      const Duration grace = node_.core.limits().quiet_grace;
      at->quiet_by = saturating_add(node_.core.executor().now(), grace);
      if (!std::exchange(grace_set_, true)) {
        grace_.set(grace);
      }
    }
  }
  deliver();
}

bool PendingOperations::abandon(Operation& operation) {
  std::unique_lock lock(mutex_);
  await_hand_back(lock);
  const auto at = find(operation);
  if (at == pending_.end()) {
    return std::erase_if(finished_, [&](const Ended& ended) { return ended.operation == &operation; }) > 0;
  }
  at->abandoned = true;
  leave_stage(*at);
  take_back(*at);
  // The polling thread may be the one that waits here, so the answers are looked at from here too.
  const TimePoint quiet_by = saturating_add(node_.core.executor().now(), node_.core.limits().quiet_grace);
  while (at->outstanding > 0) {
    for (unsigned index = 0; index < kCommands; ++index) {
      if (tickets_[index].pending == &*at) {
        if (auto answer = queue_.collect(index); answer && answer->has_value()) {
          collected(index, **answer);
        }
      }
    }
    if (at->outstanding > 0 && node_.core.executor().now() >= quiet_by) {
      not_silenced_ = true;
      busy_.store(true, std::memory_order_relaxed);
      node_.poller->wake();
      break;
    }
    lock.unlock();
    std::this_thread::sleep_for(kPause);
    lock.lock();
  }
  for (Ticket& ticket : tickets_) {
    if (ticket.pending == &*at) {
      ticket.pending = nullptr;
    }
  }
  pending_.erase(at);
  return true;
}

bool PendingOperations::has_work() {
  const std::lock_guard lock(mutex_);
  return !ended_ && (any_wanted_ || not_silenced_ || !copying_.empty() || queue_.has_news() || grace_.is_ringing() ||
                     (!ready_.empty() && queue_.has_room(true)));
}

Result<bool> PendingOperations::poll(Copier& copier) {
  const std::lock_guard lock(mutex_);
  if (ended_) {
    return false;
  }
  auto any = collect();
  if (!any) {
    return any;
  }
  if (auto silenced = check_grace(); !silenced) {
    return silenced.error();
  }
  submit_waiting();
  const bool copied = copy_piece(copier);
  busy_.store(!is_idle(), std::memory_order_relaxed);
  return copied || *any;
}

// Commands of abandoned operations come back as well, and a grace that was set rings.
bool PendingOperations::is_idle() const noexcept {
  return pending_.empty() && finished_.empty() && queue_.under_way() == 0 && !any_wanted_ && !not_silenced_ &&
         !grace_set_;
}

Result<void> PendingOperations::check_grace() {
  const auto not_silenced = [] {
    return Failure(errc::timed_out, "the owner did not answer within the grace for an operation that was given up");
  };
  if (not_silenced_) {
    return not_silenced();
  }
  if (!grace_.has_rung()) {
    return {};
  }
  grace_set_ = false;
  const TimePoint now = node_.core.executor().now();
  TimePoint next = kNever;
  for (const Pending& pending : pending_) {
    if (pending.cancelled && pending.outstanding > 0) {
      next = std::min(next, pending.quiet_by);
    }
  }
  if (next <= now) {
    return not_silenced();
  }
  if (next != kNever) {
    grace_set_ = true;
    grace_.set(next - now);
  }
  return {};
}

std::vector<PendingOperations::Wanted> PendingOperations::take_wanted() {
  const std::lock_guard lock(mutex_);
  std::vector<Wanted> taken;
  if (!std::exchange(any_wanted_, false)) {
    return taken;
  }
  for (const Pending& pending : pending_) {
    if (pending.stage == Stage::segment && std::find(wanted_.begin(), wanted_.end(), pending.wanted) == wanted_.end()) {
      wanted_.push_back(pending.wanted);
      taken.push_back(pending.wanted);
    }
  }
  return taken;
}

void PendingOperations::segment_answered(const Wanted& segment, const Failure& refusal) {
  const std::lock_guard lock(mutex_);
  std::erase(wanted_, segment);
  for (Pending& pending : pending_) {
    if (pending.stage == Stage::segment && pending.wanted == segment && !pending.abandoned) {
      pending.stage = Stage::copying;
      pending.refusal = refusal;
      copying_.push_back(&pending);
    }
  }
}

bool PendingOperations::copy_piece(Copier& copier) {
  if (copying_.empty()) {
    return false;
  }
  Pending& pending = *copying_.front();
  Operation& operation = *pending.operation;
  const Step step = copier.step(operation, pending.cursor);
  if (step == Step::closed) {
    return false;  // its end is on the way
  }
  copying_.pop_front();
  pending.took_effect = operation.kind != OperationKind::read && pending.cursor.has_moved();
  switch (step) {
    case Step::more:
      copying_.push_back(&pending);
      break;
    case Step::finished:
      pending.failure = std::exchange(operation.failure, {});
      finish(pending);
      break;
    case Step::unmapped:
      if (pending.refusal) {
        pending.failure = pending.refusal;
        finish(pending);
        break;
      }
      pending.stage = Stage::segment;  // given up meanwhile; asking again tells
      any_wanted_ = true;
      break;
    case Step::notify:
    case Step::commands:
    case Step::closed:
      pending.stage = Stage::commands;
      pending.asked_all = step == Step::notify;
      pending.notify_left = operation.notify;
      make_ready(pending);
      submit_waiting();
      break;
  }
  return true;
}

void PendingOperations::leave_stage(Pending& pending) {
  std::erase(ready_, &pending);
  std::erase(copying_, &pending);
  pending.is_ready = false;
}

// The operation has ended; its local memory is quiet.
void PendingOperations::finish(Pending& pending) {
  leave_stage(pending);
  Failure failure = pending.failure;
  if (failure && pending.took_effect) {
    failure = failure.with_effect(Effect::unknown);
  }
  finished_.push_back({pending.operation, std::move(failure)});
  pending_.erase(find(*pending.operation));
}

void PendingOperations::deliver() {
  for (;;) {
    Ended ended{};
    {
      const std::lock_guard lock(mutex_);
      if (finished_.empty()) {
        return;
      }
      ended = std::move(finished_.front());
      finished_.pop_front();
    }
    if (ended.failure) {
      ended.operation->complete(std::move(ended.failure));
    } else {
      ended.operation->complete();
    }
  }
}

std::vector<Operation*> PendingOperations::end(const Failure& lost, bool give_up) {
  const std::lock_guard lock(mutex_);
  std::vector<Operation*> again;
  if (std::exchange(ended_, true)) {
    return again;
  }
  ender_ = std::this_thread::get_id();
  grace_.cancel();
  static_cast<void>(collect());
  for (auto at = pending_.begin(); at != pending_.end();) {
    Pending& pending = *at++;
    take_back(pending);
    bool is_executing = false;  // or the owner has stopped in the middle of it
    for (Ticket& ticket : tickets_) {
      if (ticket.pending == &pending) {
        is_executing |= ticket.has_effect;
        ticket.pending = nullptr;
      }
    }
    pending.took_effect |= is_executing;
    if (is_executing && pending.failure && lost.code() == errc::outcome_unknown) {  // cancelled, not gone
      pending.failure = Failure(errc::outcome_unknown,
                                fmt::format("{} ({}), but the owner is in the middle of it: it may still be executed",
                                            pending.failure.detail(), to_string(pending.failure.code())));
    }
    pending.outstanding = 0;
    if (pending.abandoned) {
      continue;
    }
    if (!pending.failure && !give_up && !pending.took_effect) {
      again.push_back(pending.operation);
      leave_stage(pending);
      pending_.erase(find(*pending.operation));
      continue;
    }
    if (!pending.failure) {
      pending.failure = lost;
    }
    finish(pending);
  }
  return again;
}

}  // namespace ferry::shm
