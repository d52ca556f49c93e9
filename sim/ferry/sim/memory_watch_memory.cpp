// What happens to memory: copies compared behind each step, what NICs and commands have moved, revocation, ends of
// lives.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include <ferry/queue/command.hpp>
#include <ferry/sim/memory_ranges.hpp>
#include <ferry/sim/memory_watch.hpp>
#include <ferry/sim/sim_fabric.hpp>
#include <ferry/sim/sim_transport.hpp>
#include <ferry/sim/world.hpp>

namespace ferry::sim {

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

// Nothing of it may be read afterwards, not even to compare it.
void MemoryWatch::freed(ProcessNumber process, const std::byte* bytes, std::uint64_t length) {
  if (is_closed_) {
    return;
  }
  for (auto& [id, use] : uses_) {
    for (const Part& part : use.parts) {
      const bool is_local = !use.is_complete && overlap(part.local, part.length, bytes, length);
      const bool is_read = use.kind == OperationKind::read && !use.left.empty() && part.remote != nullptr &&
                           overlap(part.remote, part.length, bytes, length);
      if (!is_local && !is_read) {
        continue;
      }
      const std::byte* const mine = is_local ? part.local : part.remote;
      const std::byte* const begin = std::max<const std::byte*>(mine, bytes);
      const std::byte* const end = std::min<const std::byte*>(mine + part.length, bytes + length);
      const std::uint64_t offset = static_cast<std::uint64_t>(begin - mine) + (is_local ? 0 : part.offset);
      const auto count = static_cast<std::uint64_t>(end - begin);
      const std::string range = bytes_in_words(offset, offset + count);
      const std::string what =
          is_local ? fmt::format("{} freed {} of the {} of {} before it had completed", name(process), range,
                                 use.kind == OperationKind::write ? "source" : "destination", describe(use))
                   : fmt::format("{} freed {} while {} was in flight", name(process), range, describe(use));
      drop_copies(id, false);
      log_.add(is_local ? FindingKind::local_buffer : FindingKind::read_race, begin, count, what,
               {use.initiator, use.owner});
      break;
    }
  }
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
void MemoryWatch::on_send_posted(QueueNumber queue, ProcessNumber from, ProcessNumber to,
                                 wire::ByteView message) noexcept {
  if (const auto sent = queue::decode_sent(message)) {
    auto uses = relied_on(from, to, sent->frame);
    if (!uses.empty()) {
      sends_[{queue, sent->frame.number}] = std::move(uses);
    }
  }
}

void MemoryWatch::on_send(QueueNumber queue, ProcessNumber from, ProcessNumber at, wire::ByteView message) noexcept {
  if (const auto sent = queue::decode_sent(message)) {
    if (const auto found = sends_.find({queue, sent->frame.number}); found != sends_.end()) {
      message_arrives(found->second, from, at);
      sends_.erase(found);
    }
    return;
  }
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
