// Cancelling and abandoning: what is under way is left to end within a grace, and else silenced with its lane.
#include <utility>

#include <fmt/format.h>

#include <ferry/queue/queue_connection.hpp>

namespace ferry::queue {

void QueueConnection::cancel(Operation& operation, const Failure& why) noexcept {
  const Calling calling(*this);
  std::unique_lock lock(mutex_);
  if (state_ == State::ending && Inside::depth(this) == 1) {
    changed_.wait(lock, [this] { return state_ != State::ending; });  // it is on its way back to the Peer
  }
  Pending* const pending =
      operation.connection.load(std::memory_order_acquire) == this ? pool_.find(operation.transport_id) : nullptr;
  if (pending == nullptr || pending->operation != &operation || pending->place == Pending::Place::done ||
      pending->cancelled) {
    return;
  }
  if (!withdraw(*pending, why)) {
    pending->cancelled = true;
    pending->why = why;
    pending->silent_by = saturating_add(node_.executor().now(), node_.limits().quiet_grace);
    cancelled_.push_back(pending->id());
    if (pending->place == Pending::Place::waiting) {  // the rest is not posted
      unlist(*pending);
      pending->place = Pending::Place::posted;
      lanes_[pending->lane].posted.push_back(*pending);
    }
    arm(grace_, pending->silent_by);
    evaluate(*pending);
  }
  advance_flushes();
  pump();
  lock.unlock();
  settle();
}

// Ends it with `why` if nothing of it is under way that could touch memory, here or there. False: something is.
bool QueueConnection::withdraw(Pending& pending, const Failure& why) {
  const bool was_sent = pending.requests_out > 0 || pending.command_out || (pending.changes() && pending.posted_any);
  if (pending.place == Pending::Place::kept) {
    end(pending,
        Failure(errc::outcome_unknown, fmt::format("{} ({}), but the owner has not said whether it was executed",
                                                   why.detail(), to_string(why.code())))
            .with_effect(Effect::unknown));
    return true;
  }
  if (was_sent) {
    return false;
  }
  end(pending, why.with_effect(Effect::none));
  return true;
}

void QueueConnection::on_grace_over() noexcept {
  const Calling calling(*this);
  std::unique_lock lock(mutex_);
  grace_.armed = false;
  const TimePoint now = node_.executor().now();
  while (state_ == State::open && !cancelled_.empty()) {
    Pending* const first = pool_.find(cancelled_.front());
    if (first->silent_by > now) {
      arm(grace_, first->silent_by);
      break;
    }
    if (first->lane == Pending::kNoLane) {
      end_channel(
          lock,
          Failure(errc::peer_lost,
                  fmt::format(
                      "{} did not say within {} ms whether a cancelled operation was "
                      "executed; only without the connection is its memory quiet",
                      who_, std::chrono::duration_cast<std::chrono::milliseconds>(node_.limits().quiet_grace).count())),
          PeerState::unknown, false);
      return;
    }
    silence(lock, cancelled_.front(), first->why);
  }
  advance_flushes();
  pump();
  lock.unlock();
  settle();
}

// Takes the lane's queue pair away from under the operation, and ends it. The lock is open meanwhile.
void QueueConnection::silence(std::unique_lock<std::mutex>& lock, std::uint64_t id, const Failure& why) {
  Lane& lane = lanes_[pool_.find(id)->lane];
  break_lane(lane, LaneFailure{.why = Failure(errc::peer_lost,
                                              fmt::format("the queue to {} was torn down to silence an operation that "
                                                          "did not end",
                                                          who_))});
  const std::uint64_t channel = channel_;
  Retired retired = retire(lane);
  lock.unlock();
  retired = {};
  lock.lock();
  Pending* const pending = pool_.find(id);
  if (channel != channel_ || pending == nullptr || pending->place == Pending::Place::done) {
    return;  // it has ended otherwise
  }
  // The lane's record of its requests stays until the owner has discarded it.
  const bool may_have_changed = pending->changes() && pending->posted_any;
  end(*pending, may_have_changed ? Failure(errc::outcome_unknown,
                                           fmt::format("{} ({}), but it was not known within the grace whether it was "
                                                       "executed: it may still be",
                                                       why.detail(), to_string(why.code())))
                                       .with_effect(Effect::unknown)
                                 : why.with_effect(Effect::none));
}

bool QueueConnection::abandon(Operation& operation) noexcept {
  const Calling calling(*this);
  std::unique_lock lock(mutex_);
  if (state_ == State::ending && Inside::depth(this) == 1) {
    changed_.wait(lock, [this] { return state_ != State::ending; });
  }
  Pending* pending =
      operation.connection.load(std::memory_order_acquire) == this ? pool_.find(operation.transport_id) : nullptr;
  if (pending == nullptr || pending->operation != &operation) {
    return false;
  }
  const Failure why(errc::cancelled, "it was dropped");
  if (pending->place != Pending::Place::done && !withdraw(*pending, why)) {
    const bool is_quiet = pending->requests_out == 0;
    if (is_quiet && pending->sequence == 0) {  // only the owner's memory may still change
      unlist(*pending);
      pending->place = Pending::Place::posted;
      if (pending->lane != Pending::kNoLane) {
        lanes_[pending->lane].posted.push_back(*pending);
      }
      pending->is_orphan = true;
      pending->operation = nullptr;
      pending->command_due = false;
      pending->atomic_due = false;
      ++orphans_;
      evaluate(*pending);
      advance_flushes();
      pump();
      lock.unlock();
      settle();
      return true;
    }
    if (pending->lane != Pending::kNoLane) {
      silence(lock, pending->id(), why);
    }
    pending = pool_.find(operation.transport_id);
  }
  const bool was_here = pending != nullptr && pending->operation == &operation;
  if (was_here) {
    unlist(*pending);
    pool_.release(*pending);
  }
  pump();
  lock.unlock();
  settle();
  return was_here;
}

}  // namespace ferry::queue
