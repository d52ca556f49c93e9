#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include <ferry/memory/execute.hpp>
#include <ferry/shm/pending_operations.hpp>

namespace ferry::shm {
namespace {

CommandKind command_for(OperationKind kind) noexcept {
  switch (kind) {
    case OperationKind::read:
      return CommandKind::read;
    case OperationKind::fetch_add:
      return CommandKind::fetch_add;
    case OperationKind::compare_swap:
      return CommandKind::compare_swap;
    case OperationKind::swap:
      return CommandKind::swap;
    default:
      return CommandKind::write;
  }
}

CommandRequest request_for(const Operation& operation, CommandKind kind) noexcept {
  CommandRequest request;
  request.kind = kind;
  request.slot = operation.region.slot.value();
  request.generation = operation.region.generation.value();
  return request;
}

// Moves the cursor to the next chunk that has bytes; false: there is none.
bool find_bytes(std::span<const Chunk> chunks, CopyCursor& cursor) noexcept {
  while (cursor.chunk < chunks.size() && cursor.done == chunks[cursor.chunk].length) {
    ++cursor.chunk;
    cursor.done = 0;
  }
  return cursor.chunk < chunks.size();
}

}  // namespace

bool PendingOperations::has_more(const Pending& pending) const noexcept {
  if (pending.failure || pending.cancelled || pending.abandoned) {
    return false;
  }
  return !pending.asked_all || (pending.notify_left && pending.outstanding == 0);
}

void PendingOperations::make_ready(Pending& pending) {
  if (!std::exchange(pending.is_ready, true)) {
    ready_.push_back(&pending);
  }
}

// Takes turns, so that a long operation does not keep a short one waiting.
void PendingOperations::submit_waiting() {
  while (!ready_.empty()) {
    Pending& pending = *ready_.front();
    if (!submit_next(pending)) {
      return;
    }
    ready_.pop_front();
    pending.is_ready = false;
    if (has_more(pending)) {
      make_ready(pending);
    } else {
      settle(pending);
    }
  }
}

// False: there is no room now.
bool PendingOperations::submit_next(Pending& pending) {
  Operation& operation = *pending.operation;
  if (pending.asked_all) {
    if (!queue_.has_room(false)) {
      return false;
    }
    CommandRequest request = request_for(operation, CommandKind::notify);
    request.operand = operation.tag;
    pending.notify_left = false;
    submit(pending, request, {.has_effect = true});
    return true;
  }
  CommandRequest request = request_for(operation, command_for(operation.kind));
  if (is_atomic(operation.kind)) {
    if (!queue_.has_room(false)) {
      return false;
    }
    request.offset = operation.region.offset + operation.single.remote_offset;
    request.operand = operation.operand;
    request.expected = operation.expected;
    pending.asked_all = true;
    submit(pending, request, {.has_effect = true});
    return true;
  }
  const auto chunks = operation.chunks();
  if (!find_bytes(chunks, pending.cursor)) {
    pending.asked_all = true;
    return true;
  }
  if (!queue_.has_room(true)) {
    return false;
  }
  const Chunk& chunk = chunks[pending.cursor.chunk];
  const unsigned block = queue_.take_block();
  request.block = static_cast<std::uint16_t>(block);
  request.offset = operation.region.offset + chunk.remote_offset + pending.cursor.done;
  request.length = std::min<std::uint64_t>(chunk.length - pending.cursor.done, kStagingBytes);
  std::byte* const local = chunk.local + pending.cursor.done;
  Ticket ticket{.block = static_cast<int>(block), .length = request.length};
  if (operation.kind == OperationKind::read) {
    ticket.local = local;
  } else {
    copy_words(queue_.block_data(block), local, request.length);
    ticket.has_effect = true;
  }
  pending.cursor.done += request.length;
  pending.asked_all = !find_bytes(chunks, pending.cursor);
  submit(pending, request, ticket);
  return true;
}

void PendingOperations::submit(Pending& pending, CommandRequest request, Ticket ticket) {
  ticket.pending = &pending;
  tickets_[queue_.submit(request)] = ticket;
  ++pending.outstanding;
  ShmNode::count(node_.counters.commands);
  submitted_.store(true, std::memory_order_release);
}

void PendingOperations::free_ticket(unsigned index) noexcept {
  Ticket& ticket = tickets_[index];
  if (ticket.block >= 0) {
    queue_.give_block(static_cast<unsigned>(ticket.block));
  }
  ticket = {};
}

// Of the operation's commands, those that the owner has not begun are never executed.
void PendingOperations::take_back(Pending& pending) {
  for (std::uint64_t left = queue_.under_way(); left != 0; left &= left - 1) {
    const auto index = static_cast<unsigned>(std::countr_zero(left));
    if (tickets_[index].pending == &pending && queue_.take_back(index)) {
      free_ticket(index);
      --pending.outstanding;
    }
  }
}

Result<bool> PendingOperations::collect() {
  if (!queue_.has_news()) {
    return false;
  }
  queue_.see_news();
  for (std::uint64_t left = queue_.under_way(); left != 0; left &= left - 1) {
    const auto index = static_cast<unsigned>(std::countr_zero(left));
    auto answer = queue_.collect(index);
    if (!answer) {
      return answer.error();
    }
    if (answer->has_value()) {
      collected(index, **answer);
    }
  }
  return true;
}

void PendingOperations::collected(unsigned index, const CommandAnswer& answer) {
  const Ticket ticket = tickets_[index];
  Pending* const pending = ticket.pending;
  if (pending == nullptr) {
    free_ticket(index);
    return;
  }
  --pending->outstanding;
  if (answer.code != 0) {
    pending->took_effect |= answer.effect != 0;
    if (!pending->failure) {
      pending->failure = Failure(static_cast<errc>(answer.code), std::string(answer.text.data(), answer.text_length));
    }
  } else {
    pending->took_effect |= ticket.has_effect;
    if (!pending->abandoned) {
      if (ticket.local != nullptr) {
        copy_words(ticket.local, queue_.block_data(static_cast<unsigned>(ticket.block)), ticket.length);
      }
      pending->operation->result = answer.value;
      pending->operation->progress.fetch_add(1, std::memory_order_relaxed);
    }
  }
  free_ticket(index);
  settle(*pending);
}

void PendingOperations::settle(Pending& pending) {
  if (pending.outstanding > 0 || pending.abandoned) {
    return;
  }
  if (has_more(pending)) {
    make_ready(pending);
  } else {
    finish(pending);
  }
}

}  // namespace ferry::shm
