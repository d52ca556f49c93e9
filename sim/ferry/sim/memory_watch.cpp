#include <ferry/sim/memory_watch.hpp>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include <ferry/actor/message.hpp>
#include <ferry/queue/command.hpp>
#include <ferry/sim/sim_fabric.hpp>
#include <ferry/sim/sim_transport.hpp>
#include <ferry/sim/virtual_time.hpp>
#include <ferry/sim/world.hpp>

namespace ferry::sim {
namespace {

constexpr std::uint64_t kWord = sizeof(std::uint64_t);

bool overlap(const std::byte* a, std::uint64_t a_length, const std::byte* b, std::uint64_t b_length) noexcept {
  return a_length > 0 && b_length > 0 && a < b + b_length && b < a + a_length;
}

bool is_word(const std::byte* at, std::uint64_t length) noexcept {
  return length <= kWord && reinterpret_cast<std::uintptr_t>(at) / kWord ==
                                (reinterpret_cast<std::uintptr_t>(at) + std::max<std::uint64_t>(length, 1) - 1) / kWord;
}

std::string bytes_in_words(std::uint64_t from, std::uint64_t to) {
  return from + 1 == to ? fmt::format("byte {}", from) : fmt::format("bytes {} to {}", from, to - 1);
}

}  // namespace

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

std::vector<std::uint64_t> MemoryWatch::relied_on(ProcessNumber from, ProcessNumber to, wire::ByteView message) const {
  std::vector<std::uint64_t> uses;
  const bool is_message = !message.empty() && static_cast<queue::Control>(message.front()) == queue::Control::message;
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

void MemoryWatch::copy(const Use& use) {
  const auto add = [&](ProcessNumber whose, Copy::What what, std::byte* at, std::uint64_t length) {
    if (at != nullptr && length > 0) {
      copies_[whose].push_back({use.id, what, at, {at, at + std::min(length, kCompared)}});
    }
  };
  const bool never_tears = world_.fabric().options().granule >= kWord;
  for (const Part& part : use.parts) {
    const bool is_write = use.kind == OperationKind::write;
    add(use.initiator, is_write ? Copy::What::source : Copy::What::destination, part.local, part.length);
    if (!is_write && part.remote != nullptr && !(never_tears && is_word(part.remote, part.length))) {
      add(use.owner, Copy::What::read, part.remote, part.length);
    }
  }
}

void MemoryWatch::drop_copies(std::uint64_t use, bool of_owner_only) noexcept {
  for (auto& [process, copies] : copies_) {
    std::erase_if(
        copies, [&](const Copy& copy) { return copy.use == use && (!of_owner_only || copy.what == Copy::What::read); });
  }
  std::erase_if(copies_, [](const auto& entry) { return entry.second.empty(); });
}

void MemoryWatch::step_ended() {
  if (is_closed_ || copies_.empty()) {
    return;
  }
  if (log_.kind() == StepKind::job) {
    compare(log_.process());
  } else {
    renew(log_.process());
  }
}

void MemoryWatch::compare(ProcessNumber process) {
  const auto found = copies_.find(process);
  if (found == copies_.end()) {
    return;
  }
  for (Copy& copy : found->second) {
    if (std::memcmp(copy.at, copy.bytes.data(), copy.bytes.size()) == 0) {
      continue;
    }
    std::uint64_t from = copy.bytes.size();
    std::uint64_t to = 0;
    for (std::uint64_t index = 0; index < copy.bytes.size(); ++index) {
      if (copy.bytes[index] != copy.at[index]) {
        from = std::min(from, index);
        to = index + 1;
      }
    }
    changed(copy, from, to);
    std::copy_n(copy.at, copy.bytes.size(), copy.bytes.begin());
  }
}

void MemoryWatch::renew(ProcessNumber process) noexcept {
  if (const auto found = copies_.find(process); found != copies_.end()) {
    for (Copy& copy : found->second) {
      std::copy_n(copy.at, copy.bytes.size(), copy.bytes.begin());
    }
  }
}

// The process whose job has just ended did it.
void MemoryWatch::changed(const Copy& copy, std::uint64_t from, std::uint64_t to) {
  const Use& use = uses_.at(copy.use);
  if (copy.what != Copy::What::read) {
    log_.add(FindingKind::local_buffer, copy.at + from, to - from,
             fmt::format("{} changed {} of the {} of {} before it had completed", name(use.initiator),
                         bytes_in_words(from, to), copy.what == Copy::What::source ? "source" : "destination",
                         describe(use)),
             {use.initiator, use.owner});
    return;
  }
  const auto part =
      std::find_if(use.parts.begin(), use.parts.end(), [&](const Part& each) { return each.remote == copy.at; });
  const std::uint64_t offset = part->offset;
  log_.add(FindingKind::read_race, copy.at + from, to - from,
           fmt::format("{} changed {} while {} was in flight", name(use.owner),
                       bytes_in_words(offset + from, offset + to), describe(use)),
           {use.initiator, use.owner});
}

void MemoryWatch::on_write(ProcessNumber from, ProcessNumber at, const std::byte* bytes,
                           std::uint64_t length) noexcept {
  if (is_closed_) {
    return;
  }
  if (const auto found = copies_.find(at); found != copies_.end()) {
    for (Copy& copy : found->second) {
      if (!overlap(copy.at, copy.bytes.size(), bytes, length)) {
        continue;
      }
      const std::byte* const begin = std::max<const std::byte*>(copy.at, bytes);
      const std::byte* const end = std::min<const std::byte*>(copy.at + copy.bytes.size(), bytes + length);
      const std::uint64_t offset = static_cast<std::uint64_t>(begin - copy.at);
      std::copy(begin, end, copy.bytes.begin() + static_cast<std::ptrdiff_t>(offset));
      if (from && copy.what != Copy::What::read) {
        const Use& use = uses_.at(copy.use);
        const auto length_of_both = static_cast<std::uint64_t>(end - begin);
        log_.add(FindingKind::local_buffer, begin, length_of_both,
                 fmt::format("a write of {} changed {} of the {} of {} before it had completed", name(from),
                             bytes_in_words(offset, offset + length_of_both),
                             copy.what == Copy::What::source ? "source" : "destination", describe(use)),
                 {use.initiator, use.owner, from});
      }
    }
  }
  if (from) {
    land(from, at, bytes, length, OperationKind::write);
  }
}

void MemoryWatch::on_read(ProcessNumber from, ProcessNumber at, const std::byte* bytes, std::uint64_t length) noexcept {
  if (!is_closed_) {
    land(from, at, bytes, length, OperationKind::read);
  }
}

// The owner's CPU is about to do it.
void MemoryWatch::on_send(ProcessNumber from, ProcessNumber at, wire::ByteView message) noexcept {
  const auto command = queue::decode_command(message);
  const bool moves =
      command && (command->kind == queue::CommandKind::write || command->kind == queue::CommandKind::read);
  SimTransport* const owner = world_.fabric().transport_of(at);
  if (is_closed_ || !moves || owner == nullptr) {
    return;
  }
  const auto region = owner->node().regions().find(command->region);
  for (std::size_t index = 0; region && index < command->ranges; ++index) {
    land(from, at, region->base + command->range[index].offset, command->range[index].length,
         command->kind == queue::CommandKind::write ? OperationKind::write : OperationKind::read);
  }
}

// These bytes of operations of `from` are written, or sampled.
void MemoryWatch::land(ProcessNumber from, ProcessNumber at, const std::byte* bytes, std::uint64_t length,
                       OperationKind kind) {
  std::vector<std::uint64_t> over;
  for (auto& [id, use] : uses_) {
    if (use.initiator != from || use.owner != at || use.kind != kind || use.left.empty()) {
      continue;
    }
    std::vector<Span> left;
    for (const Span& span : use.left) {
      if (!overlap(span.at, span.length, bytes, length)) {
        left.push_back(span);
        continue;
      }
      if (span.at < bytes) {
        left.push_back({span.at, static_cast<std::uint64_t>(bytes - span.at)});
      }
      if (span.at + span.length > bytes + length) {
        const auto before = static_cast<std::uint64_t>(bytes + length - span.at);
        left.push_back({span.at + before, span.length - before});
      }
    }
    use.left = std::move(left);
    if (use.left.empty()) {
      over.push_back(id);
    }
  }
  for (const std::uint64_t id : over) {
    is_in_memory(uses_.at(id));
  }
}

void MemoryWatch::is_in_memory(const Use& use) {
  for (const std::uint64_t id : use.relies_on) {
    if (const auto earlier = uses_.find(id); earlier != uses_.end() && !earlier->second.left.empty()) {
      tell_missing(earlier->second, describe(use));
    }
  }
  if (use.kind == OperationKind::read && use.sequence != 0) {
    drop_copies(use.id, true);
  }
  if (use.is_complete) {
    uses_.erase(use.id);
  }
}

void MemoryWatch::revoked(ProcessNumber owner, RegionHandle region) {
  if (is_closed_) {
    return;
  }
  if (log_.kind() == StepKind::job) {
    compare(owner);
  }
  const ProcessId id = world_.processes()[owner.value() - 1]->bootstrap().self;
  revoked_[{id, region.slot.value(), region.generation.value()}] = world_.now();
  for (auto& [number, use] : uses_) {
    if (use.owner == owner && use.region.slot == region.slot && use.region.generation == region.generation) {
      use.left.clear();
      drop_copies(number, true);
    }
  }
  std::erase_if(uses_, [](const auto& entry) { return entry.second.is_complete && entry.second.left.empty(); });
}

void MemoryWatch::process_ended(ProcessNumber process, bool was_killed) {
  ended_[process] = {world_.now(), was_killed};
  std::vector<std::uint64_t> gone;
  for (auto& [id, use] : uses_) {
    if (use.initiator == process) {
      gone.push_back(id);
    } else if (use.owner == process) {
      use.left.clear();
    }
  }
  for (const std::uint64_t id : gone) {
    forget(id);
  }
  copies_.erase(process);
}

}  // namespace ferry::sim
