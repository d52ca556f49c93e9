// Operations and messages: what begins and ends, and what must not overlap.
#include <ferry/sim/memory_watch.hpp>

#include <algorithm>

#include <fmt/format.h>

#include <ferry/actor/message.hpp>
#include <ferry/queue/control_protocol.hpp>
#include <ferry/sim/memory_ranges.hpp>
#include <ferry/sim/sim_fabric.hpp>
#include <ferry/sim/sim_transport.hpp>
#include <ferry/sim/virtual_time.hpp>
#include <ferry/sim/world.hpp>

namespace ferry::sim {
std::string MemoryWatch::name(ProcessNumber process) const {
  return process ? world_.processes()[process.value() - 1]->name() : std::string("a process");
}

std::string MemoryWatch::owner_of(const Use& use) const {
  return use.owner ? name(use.owner) : fmt::format("process {}", to_string(use.owner_id));
}

std::string MemoryWatch::describe(const Use& use) const {
  std::string ranges;
  for (std::size_t index = 0; index < std::min<std::size_t>(use.parts.size(), 4); ++index) {
    const Part& part = use.parts[index];
    ranges += (index == 0 ? "" : ", ") + bytes_in_words(part.offset, part.offset + part.length);
  }
  return fmt::format("{}'s {} at {} ({}{} of region {} of {} bytes, begun at {})", name(use.initiator), use.phrase,
                     owner_of(use), ranges, use.parts.size() > 4 ? ", …" : "", use.region.slot.value(),
                     use.region_bytes, seconds(use.began.time_since_epoch()));
}

// Atomics and flushes have no parts: they race with nothing.
MemoryWatch::Use MemoryWatch::make(ProcessNumber initiator, const OperationRequest& request,
                                   std::uint64_t sequence) const {
  Use use;
  use.initiator = initiator;
  use.owner_id = request.region.owner;
  use.kind = request.kind;
  use.is_transmitted = request.kind == OperationKind::write && request.completion == Completion::transmitted &&
                       !request.notify && sequence == 0;
  use.sequence = sequence;
  use.is_job = log_.kind() == StepKind::job && log_.process() == initiator;
  use.step = log_.step();
  use.began = world_.now();
  use.region = {request.region.slot, request.region.generation};
  use.region_bytes = request.region.size;
  use.phrase = ferry::describe(request);
  for (const auto& process : world_.processes()) {
    if (process->bootstrap().self == use.owner_id) {
      use.owner = process->number();
    }
  }
  if (request.kind != OperationKind::read && request.kind != OperationKind::write) {
    return use;
  }
  use.bytes = request.bytes();
  std::byte* base = nullptr;
  if (SimTransport* transport = use.owner ? world_.fabric().transport_of(use.owner) : nullptr;
      transport != nullptr && !ended_.contains(use.owner)) {
    if (const auto region = transport->node().regions().find(use.region)) {
      base = region->base;
    }
  }
  for (const Chunk& chunk : request.chunks()) {
    const std::uint64_t offset = request.region.offset + chunk.remote_offset;
    std::byte* const remote = base == nullptr ? nullptr : base + offset;
    use.parts.push_back({remote, offset, chunk.local, chunk.length});
    if (remote != nullptr && chunk.length > 0) {
      use.left.push_back({remote, chunk.length});
    }
  }
  return use;
}

std::uint64_t MemoryWatch::begin(ProcessNumber initiator, const OperationRequest& request, std::uint64_t sequence) {
  if (is_closed_) {
    return 0;
  }
  Use use = make(initiator, request, sequence);
  use.id = ++last_use_;
  look_for_stale_use(use);
  look_for_shared_local(use);
  if (use.kind == OperationKind::write) {
    look_for_other_writes(use);
    find_relied_on(use);
  }
  copy(use);
  return uses_.emplace(use.id, std::move(use)).first->first;
}

void MemoryWatch::end(std::uint64_t id, const Failure& failure) {
  const auto found = uses_.find(id);
  if (found == uses_.end() || is_closed_) {
    return;
  }
  Use& use = found->second;
  drop_copies(id, false);
  if (failure && (failure.code() == errc::revoked || failure.code() == errc::stale_incarnation)) {
    look_for_stale_use(use);
  }
  if (use.kind == OperationKind::flush) {
    std::erase_if(uses_, [&](const auto& entry) {
      const Use& other = entry.second;
      return other.is_complete && other.initiator == use.initiator && other.owner == use.owner && other.id < id;
    });
  }
  if (use.is_transmitted && !failure && !use.left.empty()) {
    use.is_complete = true;
    return;
  }
  uses_.erase(id);
}

void MemoryWatch::forget(std::uint64_t id) noexcept {
  drop_copies(id, false);
  uses_.erase(id);
}

void MemoryWatch::refused(ProcessNumber initiator, const OperationRequest& request, const Failure& failure) {
  if (!is_closed_ && failure) {
    look_for_stale_use(make(initiator, request, 0));
  }
}

void MemoryWatch::channel_ended(ProcessNumber initiator, ProcessId owner, const std::vector<std::string>& waiting) {
  if (is_closed_) {
    return;
  }
  std::erase_if(uses_, [&](const auto& entry) {
    return entry.second.is_complete && entry.second.initiator == initiator && entry.second.owner_id == owner;
  });
  for (const std::string& phrase : waiting) {
    Use use;
    use.initiator = initiator;
    use.owner_id = owner;
    use.phrase = phrase;
    for (const auto& process : world_.processes()) {
      if (process->bootstrap().self == owner) {
        use.owner = process->number();
      }
    }
    if (const auto ended = ended_.find(use.owner); ended != ended_.end()) {
      const bool is_known = !ended->second.was_killed || losses_.contains({initiator, owner});
      if (is_known && told_as_stale_.insert({initiator, {owner, 0, 0}}).second) {
        log_.add(FindingKind::use_after_revoke, nullptr, 0,
                 fmt::format("{}'s {} ({}) was asked for; that life had ended at {}", name(initiator), phrase,
                             owner_of(use), seconds(ended->second.end.time_since_epoch())),
                 {initiator, use.owner});
      }
    }
  }
  for (const auto& [process, life] : ended_) {
    if (world_.processes()[process.value() - 1]->bootstrap().self == owner) {
      losses_.insert({initiator, owner});
    }
  }
}

// A reference to what is gone: revoked, or of a life of which the initiator can know that it has ended.
void MemoryWatch::look_for_stale_use(const Use& use) {
  const RegionName region{use.owner_id, use.region.slot.value(), use.region.generation.value()};
  std::string what;
  if (const auto revoked = revoked_.find(region); revoked != revoked_.end()) {
    what = fmt::format("{} had revoked that region at {}", owner_of(use), seconds(revoked->second.time_since_epoch()));
  } else if (const auto ended = ended_.find(use.owner);
             ended != ended_.end() && (!ended->second.was_killed || losses_.contains({use.initiator, use.owner_id}))) {
    what = fmt::format("that life of {} had ended at {}", owner_of(use), seconds(ended->second.end.time_since_epoch()));
  }
  if (!what.empty() && use.kind != OperationKind::flush && told_as_stale_.insert({use.initiator, region}).second) {
    log_.add(FindingKind::use_after_revoke, nullptr, 0, fmt::format("{}: {}", describe(use), what),
             {use.initiator, use.owner});
  }
}

// Two of one process that use the same local bytes at once, one of them to write there.
void MemoryWatch::look_for_shared_local(const Use& use) {
  for (const auto& [id, other] : uses_) {
    const bool may_share = other.initiator != use.initiator || other.is_complete ||
                           (other.sequence != 0 && other.sequence == use.sequence) ||
                           (other.kind == OperationKind::write && use.kind == OperationKind::write);
    if (may_share) {
      continue;
    }
    for (const Part& mine : use.parts) {
      const auto shared = std::find_if(other.parts.begin(), other.parts.end(), [&](const Part& its) {
        return overlap(mine.local, mine.length, its.local, its.length);
      });
      if (shared != other.parts.end()) {
        const auto from = static_cast<std::uint64_t>(std::max(shared->local, mine.local) - shared->local);
        const auto to = std::min<std::uint64_t>(shared->length,
                                                static_cast<std::uint64_t>(mine.local - shared->local) + mine.length);
        log_.add(FindingKind::local_buffer, shared->local + from, to - from,
                 fmt::format("{} uses {} of the local buffer of {}, which has not completed", describe(use),
                             bytes_in_words(from, to), describe(other)),
                 {use.initiator, use.owner, other.owner});
        break;
      }
    }
  }
}

void MemoryWatch::look_for_other_writes(const Use& use) {
  for (const auto& [id, other] : uses_) {
    if (other.kind != OperationKind::write ||
        (other.initiator == use.initiator && other.sequence != 0 && other.sequence == use.sequence)) {
      continue;
    }
    for (const Part& mine : use.parts) {
      const auto common = std::find_if(other.left.begin(), other.left.end(), [&](const Span& its) {
        return mine.remote != nullptr && overlap(mine.remote, mine.length, its.at, its.length);
      });
      if (common != other.left.end()) {
        std::byte* const from = std::max(mine.remote, common->at);
        std::byte* const to = std::min(mine.remote + mine.length, common->at + common->length);
        const std::uint64_t offset = mine.offset + static_cast<std::uint64_t>(from - mine.remote);
        const auto length = static_cast<std::uint64_t>(to - from);
        log_.add(FindingKind::unordered_writes, from, length,
                 fmt::format("{} writes {} while {} has not written them{}", describe(use),
                             bytes_in_words(offset, offset + length), describe(other),
                             other.is_complete ? ": it was transmitted and not flushed" : ""),
                 {use.initiator, other.initiator, use.owner});
        break;
      }
    }
  }
}

// A flag is a word that is written with delivery, or a write that notifies: what was written before it should be there.
void MemoryWatch::find_relied_on(Use& use) const {
  if (use.is_transmitted || use.parts.size() != 1 || !is_word(use.parts[0].remote, use.bytes)) {
    return;
  }
  for (const auto& [id, other] : uses_) {
    const bool is_of_them = other.initiator == use.initiator && other.owner == use.owner && !other.left.empty();
    const bool is_ordered = other.sequence != 0 && other.sequence == use.sequence;
    const bool is_not_awaited = other.is_job && use.is_job && other.step == use.step;
    if (is_of_them && !is_ordered && other.kind == OperationKind::write && other.bytes > kWord &&
        (other.is_complete || is_not_awaited)) {
      use.relies_on.push_back(id);
    }
  }
}

void MemoryWatch::tell_missing(const Use& missing, const std::string& what) {
  std::uint64_t absent = 0;
  for (const Span& span : missing.left) {
    absent += span.length;
  }
  const Span& first = missing.left.front();
  const auto part = std::find_if(missing.parts.begin(), missing.parts.end(), [&](const Part& each) {
    return overlap(each.remote, each.length, first.at, first.length);
  });
  const std::uint64_t offset = part->offset + static_cast<std::uint64_t>(first.at - part->remote);
  log_.add(FindingKind::missing_delivery, first.at, first.length,
           fmt::format("{} has arrived, and {} bytes ({}, …) are not in memory of {}, which was begun before and {}",
                       what, absent, bytes_in_words(offset, offset + first.length), describe(missing),
                       missing.is_complete ? "transmitted, not flushed" : "not awaited"),
           {missing.initiator, missing.owner});
}

std::vector<std::uint64_t> MemoryWatch::relied_on(ProcessNumber from, ProcessNumber to,
                                                  const queue::MessageFrame& frame) const {
  std::vector<std::uint64_t> uses;
  const wire::ByteView message = frame.bytes;
  const bool is_message =
      frame.is_first && !message.empty() && static_cast<queue::Control>(message.front()) == queue::Control::message;
  if (is_closed_ || !is_message || uses_.empty()) {
    return uses;
  }
  const auto kind = message_kind(message.subspan(1));
  if (kind && (*kind == MessageKind::credit || *kind == MessageKind::cancel)) {
    return uses;
  }
  for (const auto& [id, use] : uses_) {
    const bool is_not_awaited =
        use.is_job && use.step == log_.step() && use.sequence == 0 && log_.process() == from && use.bytes > 0;
    if (use.initiator == from && use.owner == to && use.kind == OperationKind::write && !use.left.empty() &&
        (use.is_complete || is_not_awaited)) {
      uses.push_back(id);
    }
  }
  return uses;
}

void MemoryWatch::message_arrives(const std::vector<std::uint64_t>& ids, ProcessNumber from, ProcessNumber to) {
  for (const std::uint64_t id : ids) {
    if (const auto use = uses_.find(id); use != uses_.end() && !use->second.left.empty() && !is_closed_) {
      tell_missing(use->second, fmt::format("a message of {} to {}", name(from), name(to)));
    }
  }
}

}  // namespace ferry::sim
