// How an operation sets out: what is refused, where it waits, which lanes are opened for it. All but start() and send()
// runs under the lock.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

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
  if (Failure why = make_next_life(lane)) {
    lane.id = next_lane_++;
    lane.state = Lane::State::opening;
    lane_failed_to_open(lane, why);
    return;
  }
  take_next_life(lane);
}

// Asks the owner for its end of it.
Failure QueueConnection::make_next_life(Lane& lane) {
  const DeviceLimits& limits = device_.limits();
  QueuePairOptions options;
  options.requests = std::min(kRequests, limits.requests);
  options.receives = 1;
  auto staging = Staging::create(device_, limits.needs_local_keys ? kKeyedSlots : kSlots, kCommandBytes);
  if (!staging) {
    return staging.error();
  }
  auto queue = device_.create_queue_pair(options, *this);
  if (!queue) {
    return queue.error();
  }
  lane.next_id = next_lane_++;
  lane.next_staging = std::move(*staging);
  lane.next_queue = std::move(*queue);
  link_->send(encode(OpenLane{lane.next_id, lane.next_queue->address()}));
  return {};
}

// Where there is one. The owner's word on it is still to come.
void QueueConnection::take_next_life(Lane& lane) noexcept {
  if (lane.next_queue != nullptr) {
    lane.id = std::exchange(lane.next_id, 0);
    lane.staging = std::move(lane.next_staging);
    lane.queue = std::move(lane.next_queue);
    lane.failure = {};
    lane.state = Lane::State::opening;
  }
}

// Else their own completions do.
bool QueueConnection::owner_answers_marks() const noexcept {
  return order_ == OrderClass::iwarp || (order_ == OrderClass::unordered && !has_flush_);
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
  const bool is_cautious = lane->is_cautious;
  lane->begin(order_, std::min(kRequests, device_.limits().requests), ready.receives, owner_answers_marks());
  lane->is_cautious = is_cautious;
  lane->word = ready.word;
  lane->state = Lane::State::ready;
  return {};
}

}  // namespace ferry::queue
