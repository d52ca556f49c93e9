// What is posted, in which order, and what waits. Everything here runs under the lock.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <ferry/memory/execute.hpp>
#include <ferry/queue/queue_connection.hpp>

namespace ferry::queue {
namespace {

constexpr std::uint8_t kSmallLane = 0;
constexpr std::uint8_t kBulkLane = 1;

bool is_small(const Operation& operation) noexcept {
  return is_atomic(operation.kind) ||
         (operation.bytes() <= limits::kSmallBytes && operation.chunks().size() <= kSmallChunks);
}

bool fits_command(const Operation& operation) noexcept {
  const auto chunks = operation.chunks();
  return operation.bytes() <= limits::kSmallBytes &&
         std::count_if(chunks.begin(), chunks.end(), [](const Chunk& chunk) { return chunk.length > 0; }) <=
             static_cast<std::ptrdiff_t>(kCommandRanges);
}

}  // namespace

Started QueueConnection::start(Operation& operation) noexcept {
  const std::lock_guard lock(mutex_);
  if (state_ != State::open) {
    return Started::not_open;
  }
  operation.failure = &operation == &reopen_ ? Failure() : refusal(operation);
  if (operation.failure || &operation == &reopen_) {
    return Started::complete;
  }
  if (operation.kind == OperationKind::flush && operation.sequence.id == 0) {
    const bool is_quiet = std::all_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) {
      return lane.waiting.empty() && lane.posted.empty() &&
             lane.last_transmitted() < std::max<std::uint64_t>(lane.covered(), 1);
    });
    if (is_quiet) {
      if (std::exchange(lost_some_, false)) {
        operation.failure = lost_transmitted();
      }
      return Started::complete;
    }
  }
  Pending& pending = pool_.take();
  pending.operation = &operation;
  pending.kind = operation.kind;
  pending.order = next_order_++;
  pending.sequence = operation.sequence.id;
  pending.is_delivered = operation.kind == OperationKind::write &&
                         (operation.completion == Completion::delivered || operation.sequence.id != 0);
  operation.transport_id = pending.id();
  operation.connection.store(this, std::memory_order_release);
  enqueue(pending);
  advance_flushes();
  pump();
  const bool has_ended = pending.place == Pending::Place::done;
  if (has_ended) {
    unlist(pending);
    pool_.release(pending);
  }
  if (!done_.empty()) {  // others' completions are not for this thread to make
    arm(attention_, node_.executor().now());
  }
  return has_ended ? Started::complete : Started::pending;
}

bool QueueConnection::send(wire::Bytes&& message) noexcept {
  const std::lock_guard lock(mutex_);
  return state_ == State::open && link_->send(encode_message(message));
}

// What is wrong with it whatever the owner says; none: it may be started.
Failure QueueConnection::refusal(const Operation& operation) const {
  if (operation.sequence.id != 0 && sequences_.has_failed(operation.sequence.id)) {
    return Failure(errc::not_executed, "an earlier member of the sequence failed");
  }
  if (operation.kind == OperationKind::flush) {
    return {};
  }
  if (is_atomic(operation.kind)) {
    if (operation.region.domain == AtomicDomain::cpu) {
      return {};
    }
    if (!device_.limits().atomics) {
      return Failure(errc::unsupported, "the word is in a NIC's atomic domain, and this device executes no atomics");
    }
    if (operation.kind == OperationKind::swap) {
      return Failure(errc::unsupported, "the word is in a NIC's atomic domain, and devices have no swap");
    }
  }
  const auto address = device_.remote_address(operation.region, operation.region.offset);
  return address ? Failure() : address.error();
}

void QueueConnection::enqueue(Pending& pending) {
  const Operation& operation = *pending.operation;
  const bool is_member = pending.sequence != 0;
  const bool is_cpu_atomic = is_atomic(pending.kind) && operation.region.domain == AtomicDomain::cpu;
  const std::uint8_t own_lane = is_small(operation) ? kSmallLane : kBulkLane;
  const std::uint8_t lane = is_member ? sequences_.enter(pending.sequence, own_lane) : own_lane;
  const bool has_bytes = pending.moves_bytes() && operation.bytes() > 0;
  pending.place = Pending::Place::waiting;
  if (pending.kind == OperationKind::flush) {
    pending.place = Pending::Place::posted;
    flushes_.push_back(pending);
    return;
  }
  if (is_cpu_atomic && !is_member) {
    pending.command_due = true;
    atomics_.push_back(pending);
    return;
  }
  const bool in_order = order_ == OrderClass::unordered && is_member && has_bytes && fits_command(operation);
  pending.is_command = is_cpu_atomic || in_order;
  pending.command_due = pending.is_command || (operation.notify && pending.kind == OperationKind::write);
  pending.atomic_due = is_atomic(pending.kind) && !is_cpu_atomic;
  if (pending.moves_bytes() && !has_bytes && !pending.command_due) {
    pending.place = Pending::Place::posted;  // nothing moves: the owner says whether it might
    ask_owner(pending);
    return;
  }
  pending.lane = lane;
  lanes_[lane].waiting.push_back(pending);
}

// Posts what can be posted. Nothing one-sided sets out toward this owner while something is under way to its memory
// whose outcome nobody knows: a lane that it has not discarded, or what was abandoned.
void QueueConnection::pump() {
  if (state_ != State::open) {
    return;
  }
  const bool is_held = broken_ > 0 || orphans_ > 0;
  if (!is_held) {
    post_atomics();
  }
  for (Lane& lane : lanes_) {
    if (lane.state == Lane::State::none && !lane.waiting.empty() && !is_held) {
      open_lane(lane);
    } else if (lane.state == Lane::State::ready) {
      post_lane(lane, is_held);
    }
  }
}

void QueueConnection::post_atomics() {
  while (!atomics_.empty() && (numbers_.empty() || next_number_ - numbers_.front() < kAtomics)) {
    Pending& pending = atomics_.front();
    atomics_.pop_front();
    pending.place = Pending::Place::posted;
    pending.command_due = false;
    send_atomic(pending);
  }
}

void QueueConnection::send_atomic(Pending& pending) {
  if (pending.number == 0) {
    pending.number = next_number_++;
    numbers_.push_back(pending.number);
  }
  pending.posted_any = true;
  pending.command_out = true;
  link_->send(encode(atomic_of(pending)));
}

AtomicRequest QueueConnection::atomic_of(const Pending& pending) const {
  const Operation& operation = *pending.operation;
  AtomicRequest atomic;
  atomic.id = pending.id();
  atomic.sequence = pending.sequence;
  atomic.region = {operation.region.slot, operation.region.generation};
  atomic.kind = atomic_kind(pending.kind);
  atomic.offset = operation.region.offset + operation.single.remote_offset;
  atomic.operand = operation.operand;
  atomic.expected = operation.expected;
  atomic.number = pending.number;
  atomic.acknowledged = numbers_.front() - 1;  // its own is among them
  return atomic;
}

// The whole referenced range: whoever asks has checked that the operation lies inside.
void QueueConnection::ask_owner(Pending& pending) {
  const RemoteRegion& region = pending.operation->region;
  ++pending.checks_out;
  link_->send(encode(Check{
      pending.id(), {region.slot, region.generation}, access_needed(pending.kind), region.offset, region.length}));
}

void QueueConnection::open_lane(Lane& lane) {
  const DeviceLimits& limits = device_.limits();
  QueuePairOptions options;
  options.requests = std::min(kRequests, limits.requests);
  options.receives = 1;
  lane.id = next_lane_++;
  lane.state = Lane::State::opening;
  lane.failure = {};
  auto staging = Staging::create(device_, limits.needs_local_keys ? kKeyedSlots : kSlots, kCommandBytes);
  if (!staging) {
    lane_failed_to_open(lane, staging.error());
    return;
  }
  lane.staging = std::move(*staging);
  auto made = device_.create_queue_pair(options, *this);
  if (!made) {
    lane_failed_to_open(lane, made.error());
    return;
  }
  lane.queue = std::move(*made);
  link_->send(encode(OpenLane{lane.id, lane.queue->address()}));
}

Result<void> QueueConnection::on_lane_ready(const LaneReady& ready) {
  Lane* const lane = find_lane(ready.lane);
  if (lane == nullptr || lane->state != Lane::State::opening) {
    return Failure(errc::malformed, fmt::format("lane {} was not to be opened", ready.lane));
  }
  if (auto connected = lane->queue->connect(ready.address); !connected) {
    lane_failed_to_open(*lane, connected.error());
    return {};
  }
  lane->begin(order_, std::min(kRequests, device_.limits().requests), ready.receives);
  lane->word = ready.word;
  lane->state = Lane::State::ready;
  return {};
}

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
  if (batch_.empty()) {
    return;
  }
  if (auto posted = lane.queue->post(batch_); !posted) {
    break_lane(lane, LaneFailure{first, true, false, posted.error()});
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
  if (lane.room() <= kMarks) {
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
  const std::size_t spare = order_ == OrderClass::unordered || order_ == OrderClass::iwarp ? kMarks : 0;
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
  if (lane.room() == 0 || !lane.staging->has_free() || (order_ != OrderClass::strict && lane.credits() == 0)) {
    return false;
  }
  WorkRequest work;
  PostedRequest request;
  request.kind = PostedRequest::Kind::mark;
  const std::uint32_t mark = lane.add_mark();
  if (order_ == OrderClass::unordered) {
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
