// What has happened to what was posted. Everything here runs under the lock but for the events.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <ferry/memory/execute.hpp>
#include <ferry/queue/queue_connection.hpp>

namespace ferry::queue {

void QueueConnection::on_completion(QueuePair& queue, const WorkCompletion& completion) noexcept {
  const Calling calling(*this);
  {
    const std::lock_guard lock(mutex_);
    Lane* const lane = find_lane(queue);
    if (lane == nullptr || completion.is_receive) {
      return;  // of a life that has ended
    }
    PostedRequest* const request = lane->find(completion.id);
    if (request == nullptr || request->is_done) {
      break_lane(*lane, LaneFailure{.why = Failure(errc::peer_lost, "the device completed what was not posted")});
    } else if (completion.status == WorkStatus::success) {
      request_done(*lane, completion.id, *request);
    } else if (order_ == OrderClass::srd && completion.status == WorkStatus::remote_refusal) {
      request_refused(*lane, completion.id, *request);
    } else {
      const bool is_refusal = completion.status == WorkStatus::remote_refusal;
      if (completion.status == WorkStatus::local_refusal) {
        if (Pending* const pending = pool_.find(request->owner);
            pending != nullptr && request->kind != PostedRequest::Kind::mark) {
          pending->refused = true;
          pending->verdict = Failure(errc::invalid_argument, "the device cannot reach the local memory");
        }
      }
      LaneFailure failure{
          .why = Failure(errc::peer_lost, fmt::format("a request to {} failed: {} (the device's code: {})", who_,
                                                      to_string(completion.status), completion.vendor_code))};
      if (is_refusal && order_ != OrderClass::iwarp) {
        failure.has_refused = true;
        failure.refused = completion.id;
        failure.executed_below = completion.id;
        // A get may have been refused when it was sent again: then what is behind it had been executed.
        failure.unexecuted_from = request->kind == PostedRequest::Kind::get ? LaneFailure::kUnknown : completion.id + 1;
      }
      ask_about(*lane);
      break_lane(*lane, failure);
    }
    advance_flushes();
    pump();
  }
  settle();
}

void QueueConnection::on_queue_lost(QueuePair& queue, const Failure& why) noexcept {
  const Calling calling(*this);
  {
    const std::lock_guard lock(mutex_);
    if (Lane* const lane = find_lane(queue)) {
      ask_about(*lane);
      break_lane(*lane, LaneFailure{.why = why});
    }
    pump();
  }
  settle();
}

// The one that uses it now; null for one that has stopped.
Lane* QueueConnection::find_lane(const QueuePair& queue) noexcept {
  for (Lane& lane : lanes_) {
    if (lane.state == Lane::State::ready && lane.queue.get() == &queue) {
      return &lane;
    }
  }
  return nullptr;
}

Lane* QueueConnection::find_lane(std::uint32_t id) noexcept {
  for (Lane& lane : lanes_) {
    if (lane.state != Lane::State::none && lane.id == id) {
      return &lane;
    }
  }
  return nullptr;
}

void QueueConnection::request_done(Lane& lane, std::uint64_t number, PostedRequest& request) {
  const PostedRequest ended = request;
  if (ended.kind == PostedRequest::Kind::mark) {
    if (!owner_answers_marks()) {
      static_cast<void>(lane.mark_answered(static_cast<std::uint32_t>(ended.owner)));
    }
  } else if (Pending* const pending = pool_.find(ended.owner)) {
    --pending->requests_out;
    pending->redrives = 0;
    const bool is_get = ended.kind == PostedRequest::Kind::get || ended.kind == PostedRequest::Kind::atomic;
    pending->gets_out -= is_get ? 1U : 0U;
    if (is_get && pending->sequence != 0) {
      sequences_.get_ended(pending->sequence);
    }
    const bool says_nothing = ended.kind == PostedRequest::Kind::command ||
                              (ended.kind == PostedRequest::Kind::put && order_ == OrderClass::iwarp);
    pending->executed_any = pending->executed_any || !says_nothing;
    if (ended.slot != Staging::kNone && is_get && !pending->is_orphan) {
      if (ended.kind == PostedRequest::Kind::atomic) {
        std::copy_n(lane.staging->at(ended.slot), sizeof pending->word, reinterpret_cast<std::byte*>(&pending->word));
      } else {
        copy_words(pending->operation->chunks()[ended.range.chunk].local + ended.range.offset,
                   lane.staging->at(ended.slot), ended.range.length);
      }
    }
    if (!pending->is_orphan) {
      pending->operation->progress.fetch_add(1, std::memory_order_relaxed);
    }
  }
  if (ended.slot != Staging::kNone) {
    lane.staging->give_back(ended.slot);
  }
  lane.done(number);
  if (ended.kind == PostedRequest::Kind::mark) {
    advance(lane);
  } else if (Pending* const pending = pool_.find(ended.owner)) {
    evaluate(*pending);
  }
}

// srd: the others go on.
void QueueConnection::request_refused(Lane& lane, std::uint64_t number, PostedRequest& request) {
  const PostedRequest ended = request;
  if (ended.slot != Staging::kNone) {
    lane.staging->give_back(ended.slot);
  }
  request.is_confirmed = true;  // no immediate of it will arrive
  const bool used_receive = lane.takes_receive(ended.kind);
  lane.done(number);
  if (used_receive) {
    lane.receive_unused();
  }
  Pending* const pending = pool_.find(ended.owner);
  if (pending == nullptr) {
    return;
  }
  --pending->requests_out;
  pending->unconfirmed -= ended.kind == PostedRequest::Kind::put ? 1U : 0U;
  pending->gets_out -= ended.kind == PostedRequest::Kind::get ? 1U : 0U;
  if (!std::exchange(pending->refused, true) && !pending->is_orphan) {
    ask_owner(*pending);
  }
  if (pending->place == Pending::Place::waiting) {
    unlist(*pending);
    pending->place = Pending::Place::posted;
    lane.posted.push_back(*pending);
  }
  evaluate(*pending);
}

Result<void> QueueConnection::on_marked(const Marked& marked) {
  Lane* const lane = find_lane(marked.lane);
  if (lane == nullptr || lane->state == Lane::State::opening) {
    return Failure(errc::malformed, fmt::format("the answer to a mark on lane {}, which is not open", marked.lane));
  }
  if (auto counted = lane->received(marked.received); !counted) {
    return counted;
  }
  if (order_ != OrderClass::srd) {
    if (auto answered = lane->mark_answered(marked.mark); !answered) {
      return answered;
    }
    advance(*lane);
    return {};
  }
  const std::uint64_t number = lane->whole_number(marked.mark);
  PostedRequest* const request = lane->find(number);
  if (request == nullptr || request->kind != PostedRequest::Kind::put || request->is_confirmed) {
    return Failure(errc::malformed, fmt::format("lane {}: an immediate was confirmed that was not sent", lane->id));
  }
  Pending* const pending = pool_.find(request->owner);
  lane->confirmed(number);
  if (pending != nullptr) {
    --pending->unconfirmed;
    evaluate(*pending);
  }
  return {};
}

// The owner's CPU has executed something.
Result<void> QueueConnection::on_executed(const Executed& executed) {
  if (executed.lane != 0) {
    Lane* const lane = find_lane(executed.lane);
    if (lane == nullptr || lane->state == Lane::State::opening) {
      return Failure(errc::malformed, fmt::format("an answer on lane {}, which is not open", executed.lane));
    }
    if (auto counted = lane->received(executed.received); !counted) {
      return counted;
    }
  }
  Pending* const pending = pool_.find(executed.id);
  if (pending == nullptr) {
    return {};  // it was given up
  }
  if (!pending->command_out) {
    return Failure(errc::malformed, fmt::format("an answer to operation {:#x}, which asked nothing", executed.id));
  }
  pending->command_out = false;
  pending->redrives = 0;
  if (executed.lane != 0 && order_ != OrderClass::srd) {  // it came behind all puts before it
    find_lane(executed.lane)->cover(pending->command_at);
  }
  if (pending->is_orphan) {
    evaluate(*pending);
    return {};
  }
  Operation& operation = *pending->operation;
  operation.progress.fetch_add(1, std::memory_order_relaxed);
  pending->failure = executed.failure;
  pending->executed_any = pending->executed_any || !executed.failure;
  if (is_atomic(pending->kind)) {
    pending->word = executed.value;
  } else if (pending->is_command && pending->kind == OperationKind::read && !executed.failure) {
    if (executed.data.size() != operation.bytes()) {
      return Failure(errc::malformed, fmt::format("{} bytes were read where {} were asked for", executed.data.size(),
                                                  operation.bytes()));
    }
    const std::byte* from = executed.data.data();
    for (const Chunk& chunk : operation.chunks()) {
      copy_words(chunk.local, from, chunk.length);
      from += chunk.length;
    }
  }
  evaluate(*pending);
  if (executed.lane != 0) {
    advance(*find_lane(executed.lane));
  }
  return {};
}

void QueueConnection::on_checked(const Verdict& checked) {
  Pending* const pending = pool_.find(checked.number);
  if (pending == nullptr || pending->checks_out == 0) {
    return;  // it was given up
  }
  --pending->checks_out;
  pending->is_accepted = !checked.failure;
  if (!pending->verdict) {
    pending->verdict = checked.failure;
  }
  if (pending->lane == Pending::kNoLane) {  // all that it wanted
    end(*pending, pending->verdict);
  } else if (order_ == OrderClass::srd) {
    evaluate(*pending);
  }
}

}  // namespace ferry::queue
