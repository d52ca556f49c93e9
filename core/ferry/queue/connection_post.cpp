// What is posted, in which order, and what waits. Everything here runs under the lock.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <ferry/memory/execute.hpp>
#include <ferry/queue/queue_connection.hpp>

namespace ferry::queue {

// One request of each in turn, so that a long one does not hold up the others; members of a sequence in their order.
// Marks are no accesses, and end what others wait for: they are posted in any case.
void QueueConnection::post_lane(Lane& lane, bool is_held) {
  batch_.clear();
  const std::uint64_t first = lane.next_number();
  for (bool any = !is_held; any;) {
    any = post_turn(lane);
  }
  while (lane.wants_mark() && post_mark(lane)) {
  }
  lane.is_cautious = lane.is_cautious && !lane.waiting.empty();
  if (batch_.empty()) {
    return;
  }
  if (auto posted = lane.queue->post(batch_); !posted) {
    break_lane(lane, LaneFailure{.why = posted.error(), .unexecuted_from = first});
  }
}

// False: nothing more can be posted.
bool QueueConnection::post_turn(Lane& lane) {
  turn_.clear();
  for (Pending& pending : lane.waiting) {
    turn_.push_back(&pending);
  }
  behind_.clear();
  bool any = false;
  for (Pending* pending : turn_) {
    if (pending->place != Pending::Place::waiting) {
      continue;  // ended with its sequence
    }
    const std::uint64_t sequence = pending->sequence;
    if (sequence != 0 && std::find(behind_.begin(), behind_.end(), sequence) != behind_.end()) {
      continue;
    }
    const Posting posted = post_some(lane, *pending);
    if (posted == Posting::no_room) {
      return false;
    }
    any = any || posted != Posting::blocked;
    if (sequence != 0 && posted != Posting::all) {
      behind_.push_back(sequence);
    }
  }
  return any;
}

QueueConnection::Posting QueueConnection::post_some(Lane& lane, Pending& pending) {
  Posting posted = Posting::all;
  do {
    posted = post_one(lane, pending);
  } while (posted == Posting::some && pending.sequence != 0);
  if (posted == Posting::all) {
    unlist(pending);
    pending.place = Pending::Place::posted;
    lane.posted.push_back(pending);
    evaluate(pending);
  }
  return posted;
}

QueueConnection::Posting QueueConnection::post_one(Lane& lane, Pending& pending) {
  if (lane.room() <= kMarks || (lane.is_cautious && lane.has_posted())) {
    return Posting::no_room;
  }
  Posting posted = Posting::all;
  if (!pending.is_command && pending.moves_bytes() && pending.has_ranges()) {
    posted = post_range(lane, pending);
  } else if (pending.atomic_due) {
    posted = post_nic_atomic(lane, pending);
  } else if (pending.command_due) {
    posted = post_command(lane, pending);
  }
  if (posted != Posting::some) {
    return posted;
  }
  const bool has_more = (!pending.is_command && pending.moves_bytes() && pending.has_ranges()) || pending.atomic_due ||
                        pending.command_due;
  return has_more ? Posting::some : Posting::all;
}

// Members behind it wait for it, so what it posted itself was the latest of its sequence.
bool QueueConnection::may_post(const Pending& pending, SequenceOrder::Kind kind) const noexcept {
  return pending.sequence == 0 || pending.counted || sequences_.may_post(pending.sequence, kind, order_);
}

void QueueConnection::note_posted(Lane& lane, Pending& pending, SequenceOrder::Kind kind, WorkRequest& work,
                                  PostedRequest& request) {
  if (pending.sequence != 0) {
    work.fenced = sequences_.is_fenced(pending.sequence, pending.gets_out);
    sequences_.posted(pending.sequence, kind, std::exchange(pending.counted, true));
  }
  request.owner = pending.id();
  work.id = lane.add(request);
  batch_.push_back(work);
  ++pending.requests_out;
  pending.gets_out += kind == SequenceOrder::Kind::get ? 1U : 0U;
  pending.posted_any = true;
}

QueueConnection::Posting QueueConnection::post_range(Lane& lane, Pending& pending) {
  const Operation& operation = *pending.operation;
  const bool is_put = pending.kind == OperationKind::write;
  const auto kind = is_put ? SequenceOrder::Kind::put : SequenceOrder::Kind::get;
  if (!may_post(pending, kind)) {
    return Posting::blocked;
  }
  const std::uint64_t most = std::min<std::uint64_t>(device_.limits().message, limits::kPieceBytes) & ~std::uint64_t{7};
  Cursor next = pending.next;
  const Range range = pending.redo.empty() ? next_range(operation.chunks(), next, most) : pending.redo.back();
  PostedRequest request;
  request.kind = is_put ? PostedRequest::Kind::put : PostedRequest::Kind::get;
  request.is_transmitted = is_put && !pending.is_delivered;
  request.is_large = range.length > limits::kSmallBytes;
  request.range = range;
  if ((request.is_large && !lane.has_window()) || (lane.takes_receive(request.kind) && lane.credits() == 0)) {
    return Posting::blocked;
  }
  const Chunk& chunk = operation.chunks()[range.chunk];
  const auto remote =
      device_.remote_address(operation.region, operation.region.offset + chunk.remote_offset + range.offset);
  if (!remote) {
    stop_posting(lane, pending, remote.error());
    return Posting::blocked;
  }
  WorkRequest work;
  work.verb = is_put ? Verb::put : Verb::get;
  work.length = range.length;
  work.remote = *remote;
  work.local = chunk.local + range.offset;
  if (order_ == OrderClass::srd && is_put) {
    work.has_immediate = true;
    work.immediate = static_cast<std::uint32_t>(lane.next_number());
  }
  if (device_.limits().needs_local_keys && chunk.length <= limits::kSmallBytes) {
    Staging* const staged = lane.staging.get();
    if (!staged->has_free()) {
      return Posting::blocked;
    }
    request.slot = staged->take();
    if (is_put) {
      copy_words(staged->at(request.slot), work.local, range.length);
    }
    work.local = staged->at(request.slot);
    work.local_key = staged->key();
  } else if (device_.limits().needs_local_keys) {
    const auto key = local_key(pending, range.chunk);
    if (!key) {
      stop_posting(lane, pending, key.error());
      return Posting::blocked;
    }
    work.local_key = *key;
  }
  if (pending.redo.empty()) {
    pending.next = next;
  } else {
    pending.redo.pop_back();
  }
  if (is_put) {
    pending.last = lane.next_number();
    pending.first = pending.first == 0 ? pending.last : pending.first;
    if (order_ == OrderClass::iwarp && lane.backlog() > kRequests) {  // what is not confirmed is remembered
      lane.want_covered(pending.last);
    }
    pending.unconfirmed += order_ == OrderClass::srd ? 1U : 0U;
  }
  note_posted(lane, pending, kind, work, request);
  return Posting::some;
}

QueueConnection::Posting QueueConnection::post_nic_atomic(Lane& lane, Pending& pending) {
  const Operation& operation = *pending.operation;
  if (!may_post(pending, SequenceOrder::Kind::get)) {
    return Posting::blocked;
  }
  const auto remote =
      device_.remote_address(operation.region, operation.region.offset + operation.single.remote_offset);
  if (!remote) {
    stop_posting(lane, pending, remote.error());
    return Posting::blocked;
  }
  PostedRequest request;
  request.kind = PostedRequest::Kind::atomic;
  WorkRequest work;
  work.verb = pending.kind == OperationKind::fetch_add ? Verb::fetch_add : Verb::compare_swap;
  work.length = sizeof(std::uint64_t);
  work.remote = *remote;
  work.operand = operation.operand;
  work.expected = operation.expected;
  work.local = reinterpret_cast<std::byte*>(&pending.word);
  if (device_.limits().needs_local_keys) {
    Staging* const staged = lane.staging.get();
    if (!staged->has_free()) {
      return Posting::blocked;
    }
    request.slot = staged->take();
    work.local = staged->at(request.slot);
    work.local_key = staged->key();
  }
  pending.atomic_due = false;
  note_posted(lane, pending, SequenceOrder::Kind::get, work, request);
  return Posting::some;
}

QueueConnection::Posting QueueConnection::post_command(Lane& lane, Pending& pending) {
  if (!may_post(pending, SequenceOrder::Kind::command) ||
      (order_ == OrderClass::srd && (pending.requests_out > 0 || pending.unconfirmed > 0))) {  // no order in the fabric
    return Posting::blocked;
  }
  Staging* const staged = lane.staging.get();
  const std::size_t spare = owner_answers_marks() ? kMarks : 0;
  if (!staged->has_free() || lane.credits() <= spare) {
    return Posting::blocked;
  }
  if (is_atomic(pending.kind) && pending.number == 0) {
    pending.number = next_number_++;
    numbers_.push_back(pending.number);
  }
  PostedRequest request;
  request.kind = PostedRequest::Kind::command;
  request.slot = staged->take();
  const wire::Bytes head = encode(command_of(pending));
  std::byte* to = staged->at(request.slot);
  std::copy(head.begin(), head.end(), to);
  to += head.size();
  if (pending.is_command && pending.kind == OperationKind::write) {
    for (const Chunk& chunk : pending.operation->chunks()) {
      copy_words(to, chunk.local, chunk.length);
      to += chunk.length;
    }
  }
  WorkRequest work;
  work.verb = Verb::send;
  work.local = staged->at(request.slot);
  work.local_key = staged->key();
  work.length = static_cast<std::uint64_t>(to - work.local);
  pending.command_due = false;
  pending.command_out = true;
  pending.command_at = lane.next_number();
  note_posted(lane, pending, SequenceOrder::Kind::command, work, request);
  return Posting::some;
}

Command QueueConnection::command_of(const Pending& pending) const {
  const Operation& operation = *pending.operation;
  Command command;
  if (is_atomic(pending.kind)) {
    command.kind = CommandKind::atomic;
    command.atomic = atomic_of(pending);
    return command;
  }
  command.kind = !pending.is_command                    ? CommandKind::notify
                 : pending.kind == OperationKind::write ? CommandKind::write
                                                        : CommandKind::read;
  command.id = pending.id();
  command.sequence = pending.sequence;
  command.region = {operation.region.slot, operation.region.generation};
  command.notifies = operation.notify;
  command.tag = operation.tag;
  if (pending.is_command) {
    for (const Chunk& chunk : operation.chunks()) {
      if (chunk.length > 0) {
        command.range[command.ranges++] = {operation.region.offset + chunk.remote_offset, chunk.length};
      }
    }
  }
  return command;
}

// False: there is no room now.
bool QueueConnection::post_mark(Lane& lane) {
  if (lane.room() == 0 || !lane.staging->has_free() || (owner_answers_marks() && lane.credits() == 0)) {
    return false;
  }
  WorkRequest work;
  PostedRequest request;
  request.kind = PostedRequest::Kind::mark;
  const std::uint32_t mark = lane.add_mark();
  if (order_ == OrderClass::unordered && has_flush_) {
    work.verb = Verb::flush;
  } else if (order_ == OrderClass::unordered) {
    work.verb = Verb::put;
    work.has_immediate = true;
    work.immediate = mark;
  } else {
    request.slot = lane.staging->take();
    work.local = lane.staging->at(request.slot);
    work.local_key = lane.staging->key();
    if (order_ == OrderClass::strict) {  // it is sampled behind every put before it
      work.verb = Verb::get;
      work.remote = lane.word;
      work.length = sizeof(std::uint64_t);
    } else {
      Command command;
      command.kind = CommandKind::mark;
      command.mark = mark;
      const wire::Bytes bytes = encode(command);
      std::copy(bytes.begin(), bytes.end(), work.local);
      work.verb = Verb::send;
      work.length = bytes.size();
    }
  }
  request.owner = mark;
  work.id = lane.add(request);
  batch_.push_back(work);
  return true;
}

// The key of a chunk of the user's; registered at the first need, until the operation ends.
Result<std::uint32_t> QueueConnection::local_key(Pending& pending, std::size_t chunk) {
  const auto chunks = pending.operation->chunks();
  if (pending.keys.empty()) {
    pending.keys.resize(chunks.size());
  }
  if (pending.keys[chunk] == 0) {
    auto key = device_.register_local(chunks[chunk].local, static_cast<std::size_t>(chunks[chunk].length));
    if (!key) {
      return key.error();
    }
    pending.keys[chunk] = *key;
  }
  return pending.keys[chunk];
}

// Something of this process's own is missing: it ends with `why` once what was posted of it has.
void QueueConnection::stop_posting(Lane& lane, Pending& pending, const Failure& why) {
  pending.refused = true;
  pending.verdict = why;
  unlist(pending);
  pending.place = Pending::Place::posted;
  lane.posted.push_back(pending);
  evaluate(pending);
}

}  // namespace ferry::queue
