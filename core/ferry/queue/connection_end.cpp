// When an operation has ended, and how. Everything here runs under the lock but for settle().
#include <algorithm>
#include <utility>

#include <ferry/queue/queue_connection.hpp>

namespace ferry::queue {
namespace {

// It was executed, though one before it was given up: a sequence stops there, whatever its device did.
Failure behind_a_failed_member(const Pending& pending) {
  const Failure stopped(pending.changes() ? errc::outcome_unknown : errc::not_executed,
                        "an earlier member of the sequence failed while this one was under way");
  return stopped.with_effect(pending.changes() ? Effect::unknown : Effect::none);
}

}  // namespace

// The owner has confirmed more of the lane's writes.
void QueueConnection::advance(Lane& lane) {
  turn_.clear();
  for (Pending& pending : lane.posted) {
    turn_.push_back(&pending);
  }
  for (Pending* pending : turn_) {
    if (pending->place == Pending::Place::posted) {
      evaluate(*pending);
    }
  }
}

void QueueConnection::advance_flushes() {
  while (!flushes_.empty()) {
    Pending& flush = flushes_.front();
    if (!has_reached(flush)) {
      return;
    }
    end(flush, std::exchange(lost_some_, false) || flush.unknown ? lost_transmitted() : Failure());
  }
}

// True if every transmitted write that was started before is confirmed, or lost; else a mark is on its way, or will be.
bool QueueConnection::has_reached(Pending& flush) {
  const auto is_earlier = [&flush](const Pending& pending) {
    return pending.order < flush.order && (pending.kind == OperationKind::write && !pending.is_delivered);
  };
  const auto is_earlier_member = [&flush](const Pending& pending) {
    return flush.sequence != 0 && pending.sequence == flush.sequence && pending.order < flush.order;
  };
  for (Lane& lane : lanes_) {
    for (PendingList* list : {&lane.waiting, &lane.posted}) {
      for (const Pending& pending : *list) {
        if (is_earlier(pending) || is_earlier_member(pending)) {
          return false;
        }
      }
    }
  }
  bool has_reached = true;
  for (std::size_t index = 0; index < kLanes; ++index) {
    Lane& lane = lanes_[index];
    if (!flush.has_targets) {
      flush.targets[index] = lane.last_transmitted();
    }
    const std::uint64_t target = flush.targets[index];
    if (order_ == OrderClass::srd) {
      has_reached = has_reached && !lane.has_unconfirmed_transmitted(target);
    } else if (target != 0 && !lane.is_covered(target)) {
      lane.want_covered(target);
      has_reached = false;
    }
  }
  flush.has_targets = true;
  return has_reached;
}

bool QueueConnection::is_visible(const Pending& pending) const noexcept {
  if (order_ == OrderClass::srd) {
    return pending.unconfirmed == 0;
  }
  return pending.last == 0 || lanes_[pending.lane].is_covered(pending.last);
}

// Ends it if nothing more is to happen; else sees to it that it will.
void QueueConnection::evaluate(Pending& pending) {
  if ((pending.place != Pending::Place::posted && pending.place != Pending::Place::waiting) ||
      pending.requests_out > 0 || pending.command_out || pending.checks_out > 0) {
    return;
  }
  if (pending.refused) {
    end(pending, refused(pending));
    return;
  }
  if (pending.place == Pending::Place::waiting) {
    return;
  }
  if (pending.is_delivered && !is_visible(pending)) {
    if (order_ != OrderClass::srd) {
      lanes_[pending.lane].want_covered(pending.last);
    }
    return;
  }
  if (pending.cancelled) {
    end(pending, pending.why.with_effect(pending.changes() && pending.posted_any ? Effect::unknown : Effect::none));
    return;
  }
  end(pending, pending.failure);
}

void QueueConnection::unlist(Pending& pending) noexcept {
  if (!pending.hook.is_linked()) {
    return;
  }
  PendingList* list = &done_;
  if (pending.place != Pending::Place::done) {
    list = pending.kind == OperationKind::flush       ? &flushes_
           : pending.lane == Pending::kNoLane         ? &atomics_
           : pending.place == Pending::Place::waiting ? &lanes_[pending.lane].waiting
                                                      : &lanes_[pending.lane].posted;
  }
  list->erase(list->iterator_to(pending));
}

void QueueConnection::end(Pending& pending, const Failure& outcome) {
  Failure failure = outcome;
  if (!failure && pending.sequence != 0 && sequences_.has_failed_before(pending.sequence, pending.order)) {
    failure = behind_a_failed_member(pending);
  }
  unlist(pending);
  for (std::uint32_t key : pending.keys) {
    if (key != 0) {
      device_.deregister_local(key);
    }
  }
  pending.keys.clear();
  if (pending.number != 0) {
    numbers_.erase(std::find(numbers_.begin(), numbers_.end(), pending.number));
  }
  if (pending.cancelled) {
    std::erase(cancelled_, pending.id());
  }
  kept_ -= pending.place == Pending::Place::kept ? 1U : 0U;
  const std::uint64_t sequence = pending.sequence;
  const std::uint64_t order = pending.order;
  const bool counted = pending.counted;
  if (pending.is_orphan) {
    --orphans_;
    pool_.release(pending);
  } else {
    pending.operation->failure = failure;
    pending.operation->result = pending.word;
    pending.place = Pending::Place::done;
    done_.push_back(pending);
  }
  if (sequence == 0) {
    return;
  }
  if (failure) {
    const bool is_first = !sequences_.has_failed(sequence);
    sequences_.fail(sequence, order);
    if (is_first) {
      fail_sequence(sequence);
    }
  }
  if (sequences_.ended(sequence, counted) && link_ != nullptr) {
    link_->send(encode_forget(sequence));
  }
}

// Ends what was not posted; what was, is skipped by the owner or does not arrive.
void QueueConnection::fail_sequence(std::uint64_t id) {
  std::vector<Pending*> rest;
  for (Lane& lane : lanes_) {
    for (Pending& pending : lane.waiting) {
      if (pending.sequence == id && !pending.posted_any) {
        rest.push_back(&pending);
      }
    }
  }
  for (Pending& pending : flushes_) {
    if (pending.sequence == id) {
      rest.push_back(&pending);
    }
  }
  for (Pending* pending : rest) {
    end(*pending, Failure(errc::not_executed, "an earlier member of the sequence failed"));
  }
}

void QueueConnection::settle() noexcept {
  for (;;) {
    std::unique_lock lock(mutex_);
    if (done_.empty()) {
      return;
    }
    Pending& pending = done_.front();
    done_.pop_front();
    Operation& operation = *pending.operation;
    pool_.release(pending);
    lock.unlock();
    operation.complete();
  }
}

}  // namespace ferry::queue
