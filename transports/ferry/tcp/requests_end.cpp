#include <ferry/tcp/requests.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace ferry::tcp {
namespace {

bool changes_memory(const Operation& operation) noexcept {
  return operation.kind == OperationKind::write || is_atomic(operation.kind);
}

Failure unknown_outcome(const Failure& why) {
  return Failure(errc::outcome_unknown,
                 fmt::format("the connection ended before the owner had answered, so it may or may not have been "
                             "executed: {}",
                             why.detail()))
      .with_effect(Effect::unknown);
}

// Cancelled, and the owner has not said that it dropped it: what lies in its socket's buffer it may still execute.
Failure unconfirmed(const Failure& why) {
  return Failure(errc::outcome_unknown, fmt::format("{} ({}), but the owner did not confirm that within the grace: it "
                                                    "may still be executed",
                                                    why.detail(), to_string(why.code())))
      .with_effect(Effect::unknown);
}

// How a cancelled operation ends with its channel.
Failure end_of_cancelled(const Failure& why, bool may_have_changed) {
  return may_have_changed ? unconfirmed(why) : why.with_effect(Effect::none);
}

Failure not_executed(const Failure& why) {
  return Failure(errc::not_executed,
                 fmt::format("the connection ended, and a sequence is not started again: {}", why.detail()));
}

}  // namespace

Pending* Requests::find(const Operation& operation) noexcept {
  Pending* pending = pool_.find(operation.transport_id);
  return pending != nullptr && pending->operation == &operation ? pending : nullptr;
}

void Requests::unlist(Pending& pending) noexcept {
  if (!pending.hook.is_linked()) {
    return;
  }
  PendingList& list = pending.place == Pending::Place::waiting ? waiting_
                      : pending.place == Pending::Place::bulk  ? bulk_
                      : pending.place == Pending::Place::gated ? gated_
                                                               : done_;
  list.erase(list.iterator_to(pending));
}

void Requests::end(Pending& pending, const Failure& failure) {
  unlist(pending);
  if (pending.place == Pending::Place::kept) {
    --kept_;
  }
  pending.operation->failure = failure;
  pending.place = Pending::Place::done;
  done_.push_back(pending);
  if (pending.sequence == 0) {
    return;
  }
  if (failure && !gate_.has_failed(pending.sequence)) {
    gate_.fail(pending.sequence);
    end_rest_of_sequence(pending.sequence);
  }
  leave_gate(pending);
  if (gate_.ended(pending.sequence)) {
    forget_notices_.push_back(pending.sequence);
  }
}

// Ends what was not posted; what was, the owner skips.
void Requests::end_rest_of_sequence(std::uint64_t id) {
  std::vector<Pending*> rest;
  for (PendingList* list : {&waiting_, &bulk_, &gated_}) {
    for (Pending& pending : *list) {
      if (pending.sequence == id && !pending.posted_any) {
        rest.push_back(&pending);
      }
    }
  }
  for (Pending* pending : rest) {
    end(*pending, Failure(errc::not_executed, "an earlier member of the sequence failed"));
  }
}

Effect Requests::effect_so_far(const Pending& pending) noexcept {
  const Operation& operation = *pending.operation;
  const bool may_have_changed = changes_memory(operation) && (pending.executed_any || is_unanswered(operation));
  return may_have_changed && pending.posted_any ? Effect::unknown : Effect::none;
}

bool Requests::cancel(Pending& pending, const Failure& why, TimePoint silent_by) {
  if (pending.place == Pending::Place::done) {
    return false;
  }
  if (pending.cancelled) {
    return true;
  }
  const bool has_channel =
      pending.place != Pending::Place::kept && !(pending.place == Pending::Place::waiting && pending.number != 0);
  if (!has_channel) {  // an atomic between two channels
    end(pending, unconfirmed(why));
    return true;
  }
  if (pending.unanswered == 0) {
    end(pending, why.with_effect(effect_so_far(pending)));
    return true;
  }
  unlist(pending);
  pending.place = Pending::Place::posted;
  pending.cancelled = true;
  pending.why = why;
  pending.silent_by = silent_by;
  cancelled_.push_back(&pending);
  cancel_notices_.push_back(pending.id());
  return true;
}

TimePoint Requests::first_silent_by() const noexcept {
  TimePoint first = kNever;
  for (const Pending* pending : cancelled_) {
    first = std::min(first, pending->silent_by);
  }
  return first;
}

Pending* Requests::take_done() noexcept {
  if (done_.empty()) {
    return nullptr;
  }
  Pending& pending = done_.front();
  done_.pop_front();
  return &pending;
}

void Requests::withdraw(Pending& pending) noexcept {
  unlist(pending);
}

void Requests::on_channel_lost(const Failure& why, std::uint64_t sent, std::vector<Operation*>& again) {
  reading_ = nullptr;
  window_bytes_ = 0;
  window_requests_ = 0;
  lost_some_ |= transmitted_ != confirmed_;
  confirmed_ = transmitted_;
  for (Pending* pending : pool_.all()) {
    if (pending->place != Pending::Place::done) {
      lose(*pending, why, sent, again);
    }
  }
  cancelled_.clear();
  cancel_notices_.clear();
  forget_notices_.clear();
}

void Requests::lose(Pending& pending, const Failure& why, std::uint64_t sent, std::vector<Operation*>& again) {
  Operation& operation = *pending.operation;
  const bool was_sent = pending.sent_before || (pending.posted_any && pending.posted_at < sent);
  const bool may_have_changed = was_sent && changes_memory(operation);
  if (pending.cancelled) {
    end(pending, end_of_cancelled(pending.why, may_have_changed));
  } else if (pending.sequence != 0) {
    end(pending, may_have_changed ? unknown_outcome(why) : was_sent ? why : not_executed(why));
  } else if (may_have_changed && !is_atomic(operation.kind)) {
    end(pending, unknown_outcome(why));
  } else if (may_have_changed) {
    if (pending.place != Pending::Place::kept) {
      unlist(pending);
      pending.place = Pending::Place::kept;
      pending.sent_before = true;
      pending.unanswered = 0;
      ++kept_;
    }
  } else if (was_sent && why.code() == errc::malformed) {
    end(pending, why);  // the same question would get the same answer
  } else {
    unlist(pending);
    pool_.release(pending);
    again.push_back(&operation);
  }
}

void Requests::on_channel_open(std::uint64_t session) {
  const bool is_forgotten = session_ != 0 && session != session_;
  session_ = session;
  if (kept_ == 0) {
    return;
  }
  if (is_forgotten) {
    end_kept(Failure(errc::outcome_unknown, "the owner has forgotten this process's earlier connection"));
    return;
  }
  std::vector<Pending*> pending = pool_.all();
  std::erase_if(pending, [](const Pending* each) { return each->place != Pending::Place::kept; });
  std::sort(pending.begin(), pending.end(), [](const Pending* a, const Pending* b) { return a->number < b->number; });
  for (Pending* each : pending) {
    enqueue(*each, Pending::Place::waiting);
  }
  kept_ = 0;
}

void Requests::end_kept(const Failure& why) {
  for (Pending* pending : pool_.all()) {
    if (pending->place == Pending::Place::kept) {
      end(*pending, unknown_outcome(why));
    }
  }
}

void Requests::end_all(const Failure& why) {
  reading_ = nullptr;
  window_bytes_ = 0;
  window_requests_ = 0;
  for (Pending* pending : pool_.all()) {
    if (pending->place != Pending::Place::done) {
      const bool may_have_changed = pending->posted_any && changes_memory(*pending->operation);
      end(*pending, pending->cancelled ? end_of_cancelled(pending->why, may_have_changed)
                                       : why.with_effect(may_have_changed ? Effect::unknown : Effect::none));
    }
  }
  cancelled_.clear();
  cancel_notices_.clear();
  forget_notices_.clear();
}

}  // namespace ferry::tcp
