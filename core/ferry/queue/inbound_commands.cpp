// What the owner's CPU does for an initiator. Everything here runs under the lock but for the event itself.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <ferry/memory/execute.hpp>
#include <ferry/queue/queue_inbound.hpp>

namespace ferry::queue {
namespace {

Failure skipped() {
  return Failure(errc::not_executed, "an earlier member of the sequence failed");
}

}  // namespace

void QueueInbound::on_completion(QueuePair& queue, const WorkCompletion& completion) noexcept {
  const auto self = shared_from_this();
  const std::lock_guard lock(mutex_);
  const auto lane = std::find_if(lanes_.begin(), lanes_.end(),
                                 [&queue](const OwnerLane& each) { return each.queue.get() == &queue; });
  if (state_ != State::open || lane == lanes_.end() || !completion.is_receive ||
      completion.status != WorkStatus::success) {
    return;  // of a lane that its initiator discards, or has
  }
  if (farewell_.why) {
    return;
  }
  if (auto done = on_receive(*lane, completion); !done) {
    farewell_.why = done.error();
    node_.executor().start_timer(farewell_, node_.executor().now());
  }
}

Result<void> QueueInbound::on_receive(OwnerLane& lane, const WorkCompletion& completion) {
  const auto slot = static_cast<std::uint16_t>(completion.id);
  std::byte* const bytes = lane.receives->at(slot);
  if (!completion.has_immediate) {
    const auto command = decode_command({bytes, static_cast<std::size_t>(completion.length)});
    if (!command) {
      return command.error();
    }
    return execute(lane, slot, *command);
  }
  repost(lane, slot);
  link_->send(encode(Marked{lane.id, lane.received, completion.immediate}));
  return {};
}

// Once its bytes were used, and before the initiator is told, so that what it sends next finds it.
void QueueInbound::repost(OwnerLane& lane, std::uint16_t slot) {
  ++lane.received;
  static_cast<void>(lane.queue->post_receive(slot, lane.receives->at(slot), kCommandBytes, lane.receives->key()));
}

Result<void> QueueInbound::execute(OwnerLane& lane, std::uint16_t slot, const Command& command) {
  if (command.kind == CommandKind::mark) {
    repost(lane, slot);
    link_->send(encode(Marked{lane.id, lane.received, command.mark}));
    return {};
  }
  Executed executed;
  if (command.kind == CommandKind::atomic) {
    auto done = execute_atomic_once(command.atomic);
    if (!done) {
      return done.error();
    }
    executed = std::move(*done);
  } else if (is_skipped(command.sequence)) {
    executed.failure = skipped();
  } else if (command.kind == CommandKind::read) {
    executed.failure = execute_read(command, executed.data);
  } else {
    executed.failure = execute_write(command);
  }
  executed.lane = lane.id;
  executed.id = command.id;
  if (auto noted = note_failure(command.sequence, executed.failure); !noted) {
    return noted;
  }
  repost(lane, slot);
  executed.received = lane.received;
  link_->send(encode(executed));
  return {};
}

// notify: no bytes.
Failure QueueInbound::execute_write(const Command& command) {
  const std::byte* from = command.data.data();
  for (std::size_t index = 0; command.kind == CommandKind::write && index < command.ranges; ++index) {
    const CommandRange& range = command.range[index];
    const auto pin = node_.regions().pin(command.region, Access::write, range.offset, range.length);
    if (!pin) {
      return index == 0 ? pin.error() : pin.error().with_effect(Effect::unknown);
    }
    copy_words(pin->address(), from, static_cast<std::size_t>(range.length));
    from += range.length;
  }
  if (command.kind == CommandKind::notify || command.notifies) {
    const auto told = node_.regions().notify(command.region, command.tag);
    return told ? Failure() : told.error();
  }
  return {};
}

Failure QueueInbound::execute_read(const Command& command, wire::Bytes& data) {
  for (std::size_t index = 0; index < command.ranges; ++index) {
    const CommandRange& range = command.range[index];
    const auto pin = node_.regions().pin(command.region, Access::read, range.offset, range.length);
    if (!pin) {
      data.clear();
      return pin.error();
    }
    copy_words(data.extend(static_cast<std::size_t>(range.length)), pin->address(),
               static_cast<std::size_t>(range.length));
  }
  return {};
}

// Executed at most once, however often it comes: over lanes and channels.
Result<Executed> QueueInbound::execute_atomic_once(const AtomicRequest& request) {
  const std::lock_guard lock(session_->mutex);
  ReplyLog& log = session_->replies;
  const auto before = log.find(request.number, request.acknowledged);
  if (!before) {
    return before.error();
  }
  ReplyLog::Reply reply;
  if (*before != nullptr) {
    reply = **before;
  } else {
    if (is_skipped(request.sequence)) {
      reply.failure = skipped();
    } else if (auto old = atomic_on_region(node_.regions(), request.region, request.offset, request.kind,
                                           request.operand, request.expected);
               old) {
      reply.value = *old;
    } else {
      reply.failure = old.error();
    }
    log.add(request.number, reply);
  }
  Executed executed;
  executed.id = request.id;
  executed.value = reply.value;
  executed.failure = reply.failure;
  return executed;
}

bool QueueInbound::is_skipped(std::uint64_t sequence) const noexcept {
  return sequence != 0 && failed_sequences_.contains(sequence);
}

Result<void> QueueInbound::note_failure(std::uint64_t sequence, const Failure& failure) {
  if (sequence == 0 || !failure) {
    return {};
  }
  failed_sequences_.insert(sequence);
  if (failed_sequences_.size() > kFailedSequences) {
    return Failure(errc::malformed, fmt::format("at most {} failed sequences at one time expected", kFailedSequences));
  }
  return {};
}

}  // namespace ferry::queue
