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

// Every flush that waits covers it; if there is none, the next one has to say so.
void QueueConnection::note_lost() {
  lost_some_ = lost_some_ || flushes_.empty();
  for (Pending& flush : flushes_) {
    flush.unknown = true;
  }
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
  link_->send(encode_discard(lane.id));
  if (!lane.waiting.empty() ||
      !lane.posted.empty()) {  // it is there one round trip sooner; if not, it is asked for later
    static_cast<void>(make_next_life(lane));
  }
}

// Which references the owner does not accept: one of them may be what stopped the lane, and the others would stop it
// again. Before break_lane(), so that the answers come before the owner's word that it has discarded the lane.
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
  lane.failure = LaneFailure{.why = why};
  link_->send(encode_discard(lane.id));
  while (!lane.waiting.empty()) {
    Pending& pending = lane.waiting.front();
    end(pending, why.with_effect(pending.changes() && pending.executed_any ? Effect::unknown : Effect::none));
  }
}

QueueConnection::Retired QueueConnection::retire(Lane& lane) noexcept {
  return Retired{std::move(lane.staging), std::move(lane.queue)};
}

// What the owner says of the lane's last life, while both ends of it are stopped and this one still knows what it sent.
void QueueConnection::take_evidence(Lane& lane, const Discarded& discarded) {
  LaneFailure& failure = lane.failure;
  failure.has_refused = failure.has_refused || discarded.has_refused;
  if (!discarded.progress || lane.queue == nullptr) {
    if (failure.has_refused && failure.refused == 0) {
      attribute(lane);
    }
    return;
  }
  const std::uint64_t posted_below = std::min(failure.unexecuted_from, lane.next_number());
  std::uint64_t executed_below = posted_below;
  std::uint64_t unexecuted_from = posted_below;
  bool is_known = true;
  lane.for_each([&](std::uint64_t number, const PostedRequest& request) {
    if (number >= posted_below || !is_unaccounted(lane, number, request)) {
      return;
    }
    const Acceptance acceptance = lane.queue->acceptance(number, *discarded.progress);
    is_known = is_known && acceptance != Acceptance::unknown;
    if (acceptance != Acceptance::whole) {
      executed_below = std::min(executed_below, number);
    }
    if (acceptance == Acceptance::none) {
      unexecuted_from = std::min(unexecuted_from, number);
    }
  });
  if (is_known) {
    // Whose word got lost: the first that was not accepted, if the owner does not accept its reference either.
    const PostedRequest* const first = unexecuted_from < posted_below ? lane.find(unexecuted_from) : nullptr;
    const Pending* const pending = first == nullptr ? nullptr : pool_.find(first->owner);
    if (failure.has_refused && failure.refused == 0 && pending != nullptr && pending->verdict &&
        first->kind != PostedRequest::Kind::mark && first->kind != PostedRequest::Kind::command) {
      failure.refused = unexecuted_from;
    }
    failure.has_evidence = true;
    failure.executed_below = executed_below;
    failure.unexecuted_from = unexecuted_from;
  }
}

// The owner has discarded its end, and this one is destroyed: nothing of the lane's last life will have an effect any
// more, every command that was executed has been answered, and what completed is in memory (iwarp: what a mark covers).
void QueueConnection::resolve(Lane& lane) {
  lane.for_each([&](std::uint64_t number, const PostedRequest& request) { resolve_request(lane, number, request); });
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
  const bool is_cautious = lane.is_cautious;
  lane.cover(lane.next_number());
  lane.begin(order_, 0, 0, false);
  lane.is_cautious = is_cautious;
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

// Nobody said here which request it was that the owner's device refused: the word got lost, or the device gives none;
// nor how far it had come. Everything before it was executed, so that it must be one whose reference the owner does not
// accept; where it accepts them all (a key was forged), it may be any. Nothing behind it was executed, unless it is a
// get that was sent again.
void QueueConnection::attribute(Lane& lane) {
  std::uint64_t first[2] = {};  // of those that the owner does not accept, and of all
  std::uint64_t last[2] = {};
  bool has_get[2] = {};
  lane.for_each([&](std::uint64_t number, const PostedRequest& request) {
    const bool is_access = request.kind != PostedRequest::Kind::mark && request.kind != PostedRequest::Kind::command;
    if (!is_access || !is_unaccounted(lane, number, request)) {
      return;
    }
    const Pending* const pending = pool_.find(request.owner);
    for (const int of : {0, 1}) {
      if (of == 1 || pending == nullptr || !pending->is_accepted) {
        first[of] = first[of] == 0 ? number : first[of];
        last[of] = number;
        has_get[of] = has_get[of] || request.kind == PostedRequest::Kind::get;
      }
    }
  });
  const int of = first[0] != 0 ? 0 : 1;
  if (first[of] != 0) {
    lane.failure.executed_below = first[of];
    lane.failure.unexecuted_from = has_get[of] ? LaneFailure::kUnknown : last[of] + 1;
    if (first[of] == last[of]) {
      lane.failure.refused = first[of];
    }
  }
}

// Its completion did not come, or (iwarp) says nothing.
bool QueueConnection::is_unaccounted(const Lane& lane, std::uint64_t number,
                                     const PostedRequest& request) const noexcept {
  const bool says_nothing = order_ == OrderClass::iwarp && request.kind == PostedRequest::Kind::put;
  return !request.is_done || (says_nothing && !lane.is_covered(number));
}

void QueueConnection::resolve_request(Lane& lane, std::uint64_t number, const PostedRequest& request) {
  using Kind = PostedRequest::Kind;
  if (request.kind == Kind::mark || !is_unaccounted(lane, number, request)) {
    return;
  }
  const LaneFailure& failure = lane.failure;
  const bool is_executed = number < failure.executed_below || (request.kind == Kind::put && lane.is_covered(number));
  Pending* const pending = pool_.find(request.owner);
  if (pending == nullptr) {
    if (request.is_transmitted && !is_executed) {
      note_lost();
    }
    return;
  }
  const bool is_get = request.kind == Kind::get || request.kind == Kind::atomic;
  if (!request.is_done) {
    --pending->requests_out;
    pending->gets_out -= is_get ? 1U : 0U;
    if (is_get && pending->sequence != 0) {
      sequences_.get_ended(pending->sequence);
    }
  }
  if (request.kind == Kind::command) {
    return;
  }
  const bool is_unnamed = failure.has_refused && failure.refused == 0;
  if (number == failure.refused) {
    pending->refused = true;
    pending->unknown = pending->unknown || may_be_in_part(lane, number, request, *pending);
  } else if (number >= failure.unexecuted_from) {
    request.kind == Kind::atomic ? static_cast<void>(pending->atomic_due = true)
                                 : pending->redo.push_back(request.range);
    lane.is_cautious = lane.is_cautious || is_unnamed;
  } else if (!is_executed && is_unnamed && pending->verdict) {
    // A right or range that the region has not, it never had; but it may have been revoked afterwards.
    pending->refused = true;
    pending->unknown = pending->unknown || failure.has_evidence || pending->verdict.code() == errc::revoked;
  } else if (request.kind == Kind::get) {
    pending->redo.push_back(request.range);
    lane.is_cautious = lane.is_cautious || is_unnamed;
  } else if (request.kind == Kind::put && is_executed) {
    pending->executed_any = true;
  } else {
    pending->unknown = true;
  }
}

// A refused put whose first packets had been accepted: its key died in the middle, or the owner says so.
bool QueueConnection::may_be_in_part(const Lane& lane, std::uint64_t number, const PostedRequest& request,
                                     const Pending& pending) const noexcept {
  const LaneFailure& failure = lane.failure;
  if (request.kind != PostedRequest::Kind::put || number >= failure.unexecuted_from) {
    return false;
  }
  return failure.has_evidence ||
         (pending.verdict && pending.verdict.code() == errc::revoked && request.range.length > kLeastPacket);
}

// True: it has ended. Else it goes on in the lane's next life.
bool QueueConnection::resolve_pending(Lane& lane, Pending& pending) {
  const bool was_under_way = !pending.redo.empty() || pending.command_out || pending.unknown || pending.refused;
  if (std::exchange(pending.command_out, false)) {
    pending.command_due = true;  // it never arrived
  }
  pending.unconfirmed = 0;
  pending.checks_out = 0;
  pending.is_accepted = false;
  if (order_ == OrderClass::iwarp && pending.first != 0 && lane.is_covered(pending.first)) {
    pending.executed_any = true;
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
      note_lost();
    }
  }
  for (Pending* pending : pool_.all()) {
    if (pending->place != Pending::Place::done && pending->place != Pending::Place::none) {
      lose(*pending, why, again);
    }
  }
  for (Lane& lane : lanes_) {
    lane.cover(lane.next_number());
    lane.begin(order_, 0, 0, false);
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
  } else if (pending.kind == OperationKind::flush && pending.unknown) {
    end(pending, lost_transmitted());
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
    lane.begin(order_, 0, 0, false);
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
