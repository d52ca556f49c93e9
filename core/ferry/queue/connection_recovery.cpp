// What becomes of operations when a lane fails, or the whole channel. Everything here runs under the lock.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <ferry/queue/queue_connection.hpp>

namespace ferry::queue {
namespace {

Failure unknown_outcome(const Failure& why) {
  return Failure(errc::outcome_unknown,
                 fmt::format("the connection ended before the owner had answered, so it may or may not have been "
                             "executed: {}",
                             why.detail()))
      .with_effect(Effect::unknown);
}

// Cancelled, and nobody knows whether it was executed.
Failure unconfirmed(const Failure& why) {
  return Failure(errc::outcome_unknown,
                 fmt::format("{} ({}), but it was not known within the grace whether it was executed: it may still be",
                             why.detail(), to_string(why.code())))
      .with_effect(Effect::unknown);
}

Failure not_executed(const Failure& why) {
  return Failure(
      errc::not_executed,
      fmt::format("what was under way on its queue failed, and a sequence is not started again: {}", why.detail()));
}

}  // namespace

Failure QueueConnection::lost_transmitted() {
  return Failure(errc::outcome_unknown,
                 "the connection broke after writes had been transmitted and before they were confirmed; they may have "
                 "been lost")
      .with_effect(Effect::unknown);
}

// Of one that the owner's device, or this process's own, refused.
Failure QueueConnection::refused(const Pending& pending) const {
  const Effect effect = pending.changes() && (pending.executed_any || pending.unknown) ? Effect::unknown : Effect::none;
  if (pending.cancelled) {
    return pending.why.with_effect(effect);
  }
  if (pending.verdict) {
    return pending.verdict.with_effect(effect);
  }
  return Failure(errc::access_denied,
                 fmt::format("the device of {} refused the access, though its memory may be accessed so; the key in "
                             "the reference is not of this memory",
                             who_))
      .with_effect(effect);
}

// Its queue pair stops; the owner is asked to discard the other end, and until it has, nothing one-sided is posted.
void QueueConnection::break_lane(Lane& lane, const LaneFailure& failure) {
  if (lane.state != Lane::State::ready) {
    return;
  }
  lane.state = Lane::State::broken;
  lane.failure = failure;
  ++broken_;
  lane.queue->stop();
  if (failure.is_refusal || order_ == OrderClass::iwarp) {
    ask_about(lane);
  }
  link_->send(encode_discard(lane.id));
}

// Which references the owner does not accept: those are not posted again, each would stop the lane again. The answers
// come before the owner's word that it has discarded the lane.
void QueueConnection::ask_about(Lane& lane) {
  std::size_t asked = 0;
  for (PendingList* list : {&lane.posted, &lane.waiting}) {
    for (Pending& pending : *list) {
      if (!pending.is_orphan && !pending.is_command && asked < kChecks) {
        ask_owner(pending);
        ++asked;
      }
    }
  }
}

// Nothing was posted in this life of it.
void QueueConnection::lane_failed_to_open(Lane& lane, const Failure& why) {
  lane.state = Lane::State::broken;
  ++broken_;
  lane.failure = LaneFailure{0, false, false, why};
  link_->send(encode_discard(lane.id));
  while (!lane.waiting.empty()) {
    end(lane.waiting.front(), why.with_effect(Effect::none));
  }
}

QueueConnection::Retired QueueConnection::retire(Lane& lane) noexcept {
  return Retired{std::move(lane.staging), std::move(lane.queue)};
}

// The owner has discarded its end, and this one is destroyed: nothing of the lane's last life will have an effect any
// more, every command that was executed has been answered, and what completed is in memory (not so on iwarp).
void QueueConnection::resolve(Lane& lane) {
  lane.for_each([&](std::uint64_t number, const PostedRequest& request) { resolve_request(lane, number, request); });
  if (order_ == OrderClass::iwarp && lane.last_transmitted() != 0 && !lane.is_covered(lane.last_transmitted())) {
    lost_some_ = true;
  }
  std::vector<Pending*> all;
  for (PendingList* list : {&lane.posted, &lane.waiting}) {
    for (Pending& pending : *list) {
      all.push_back(&pending);
    }
  }
  std::sort(all.begin(), all.end(), [](const Pending* a, const Pending* b) { return a->order < b->order; });
  std::vector<Pending*> rest;
  for (Pending* pending : all) {
    if (pending->place == Pending::Place::waiting || pending->place == Pending::Place::posted) {
      if (!resolve_pending(lane, *pending)) {
        rest.push_back(pending);
      }
    }
  }
  lane.cover(lane.next_number());
  lane.begin(order_, 0, 0);
  lane.state = Lane::State::none;
  --broken_;
  for (Pending* pending : rest) {
    if (pending->place != Pending::Place::waiting && pending->place != Pending::Place::posted) {
      continue;  // ended with its sequence meanwhile
    }
    unlist(*pending);
    const bool has_more = pending->command_due || pending->atomic_due ||
                          (!pending->is_command && pending->moves_bytes() && pending->has_ranges());
    pending->place = has_more ? Pending::Place::waiting : Pending::Place::posted;
    (has_more ? lane.waiting : lane.posted).push_back(*pending);
    evaluate(*pending);
  }
}

// A request that had not ended.
void QueueConnection::resolve_request(Lane& lane, std::uint64_t number, const PostedRequest& request) {
  Pending* const pending = request.kind == PostedRequest::Kind::mark ? nullptr : pool_.find(request.owner);
  if (pending == nullptr || request.is_done) {
    return;
  }
  const LaneFailure& failure = lane.failure;
  const bool is_unexecuted = failure.nothing_behind && number >= failure.number;
  --pending->requests_out;
  if (request.kind == PostedRequest::Kind::get || request.kind == PostedRequest::Kind::atomic) {
    --pending->gets_out;
    if (pending->sequence != 0) {
      sequences_.get_ended(pending->sequence);
    }
  }
  if (failure.is_refusal && failure.nothing_behind && number == failure.number) {
    pending->refused = true;
    return;
  }
  switch (request.kind) {
    case PostedRequest::Kind::get:
      pending->redo.push_back(request.range);
      break;
    case PostedRequest::Kind::put:
      if (lane.is_covered(number)) {  // the owner saw what came behind it
        pending->executed_any = true;
        break;
      }
      is_unexecuted ? pending->redo.push_back(request.range) : static_cast<void>(pending->unknown = true);
      break;
    case PostedRequest::Kind::atomic:
      (is_unexecuted ? pending->atomic_due : pending->unknown) = true;
      break;
    default:
      break;
  }
}

// True: it has ended. Else it goes on in the lane's next life.
bool QueueConnection::resolve_pending(Lane& lane, Pending& pending) {
  const bool was_under_way = !pending.redo.empty() || pending.command_out || pending.unknown || pending.refused;
  if (std::exchange(pending.command_out, false)) {
    pending.command_due = true;  // it never arrived
  }
  pending.unconfirmed = 0;
  pending.checks_out = 0;
  const bool never_left = lane.failure.nothing_behind && pending.first >= lane.failure.number;
  const bool is_unaccounted = order_ == OrderClass::iwarp && pending.kind == OperationKind::write &&
                              pending.last != 0 && !lane.is_covered(pending.last) && !never_left;
  if (order_ == OrderClass::iwarp && pending.last != 0 && lane.is_covered(pending.last)) {
    pending.executed_any = true;
  }
  if (is_unaccounted) {  // its completions say nothing: the owner's check of the reference is all there is
    pending.refused = pending.refused || pending.verdict;
    // A right or range that the region has not, it never had; but it may have been revoked afterwards.
    pending.unknown = !pending.verdict || pending.verdict.code() == errc::revoked;
  }
  if (pending.is_orphan) {
    end(pending, {});
    return true;
  }
  if (pending.refused) {
    end(pending, refused(pending));
    return true;
  }
  if (pending.unknown) {
    end(pending, pending.cancelled ? unconfirmed(pending.why) : unknown_outcome(lane.failure.why));
    return true;
  }
  if (pending.cancelled) {
    end(pending, pending.why.with_effect(pending.changes() && pending.executed_any ? Effect::unknown : Effect::none));
    return true;
  }
  const bool has_more = pending.place == Pending::Place::waiting || was_under_way;
  if (!has_more) {
    return false;
  }
  if (pending.sequence != 0 && was_under_way) {
    end(pending, not_executed(lane.failure.why)
                     .with_effect(pending.changes() && pending.executed_any ? Effect::unknown : Effect::none));
    return true;
  }
  if (pending.verdict) {
    end(pending, refused(pending));
    return true;
  }
  if (was_under_way && ++pending.redrives > kRedrives) {
    end(pending,
        lane.failure.why.with_effect(pending.changes() && pending.executed_any ? Effect::unknown : Effect::none));
    return true;
  }
  return false;
}

void QueueConnection::lose_all(const Failure& why, std::vector<Operation*>& again) {
  for (Lane& lane : lanes_) {
    if (lane.state == Lane::State::ready || lane.state == Lane::State::broken) {
      lane.for_each(
          [&](std::uint64_t number, const PostedRequest& request) { resolve_request(lane, number, request); });
    }
    if (lane.last_transmitted() != 0 &&
        (order_ == OrderClass::srd ? lane.has_unconfirmed_transmitted(lane.last_transmitted())
                                   : !lane.is_covered(lane.last_transmitted()))) {
      lost_some_ = true;
    }
  }
  for (Pending* pending : pool_.all()) {
    if (pending->place != Pending::Place::done && pending->place != Pending::Place::none) {
      lose(*pending, why, again);
    }
  }
  for (Lane& lane : lanes_) {
    lane.cover(lane.next_number());
    lane.begin(order_, 0, 0);
    lane.state = Lane::State::none;
  }
  broken_ = 0;
}

// The channel has ended, and no owner said what it saw.
void QueueConnection::lose(Pending& pending, const Failure& why, std::vector<Operation*>& again) {
  const bool was_asked = pending.command_out;
  const bool says_nothing = order_ == OrderClass::iwarp && pending.last != 0;
  const bool may_have_changed =
      pending.changes() && (pending.unknown || pending.executed_any || was_asked || says_nothing);
  Operation* const operation = pending.operation;
  if (pending.place == Pending::Place::kept) {
    return;
  }
  if (pending.is_orphan) {
    end(pending, {});
  } else if (pending.cancelled) {
    end(pending, may_have_changed ? unconfirmed(pending.why) : pending.why.with_effect(Effect::none));
  } else if (pending.sequence != 0) {
    end(pending, may_have_changed     ? unknown_outcome(why)
                 : pending.posted_any ? why.with_effect(Effect::none)
                                      : not_executed(why));
  } else if (is_atomic(pending.kind) && pending.number != 0) {
    pending.command_out = false;
    pending.sent_before = true;
    pending.place = Pending::Place::kept;
    ++kept_;
  } else if (may_have_changed) {
    end(pending, unknown_outcome(why));
  } else if (pending.posted_any && why.code() == errc::malformed) {
    end(pending, why);  // the same question would get the same answer
  } else {
    unlist(pending);
    for (std::uint32_t key : pending.keys) {
      if (key != 0) {
        device_.deregister_local(key);
      }
    }
    pool_.release(pending);
    again.push_back(operation);
  }
}

void QueueConnection::end_all(const Failure& why) {
  for (Lane& lane : lanes_) {
    lane.begin(order_, 0, 0);
    lane.state = Lane::State::none;
  }
  broken_ = 0;
  for (Pending* pending : pool_.all()) {
    if (pending->place == Pending::Place::done || pending->place == Pending::Place::none) {
      continue;
    }
    const bool may_have_changed = pending->posted_any && pending->changes();
    end(*pending,
        pending->cancelled && may_have_changed
            ? unconfirmed(pending->why)
            : (pending->cancelled ? pending->why : why).with_effect(may_have_changed ? Effect::unknown : Effect::none));
  }
}

void QueueConnection::end_kept(const Failure& why) {
  for (Pending* pending : pool_.all()) {
    if (pending->place == Pending::Place::kept) {
      end(*pending, unknown_outcome(why));
    }
  }
}

}  // namespace ferry::queue
