#include <ferry/shm/command_server.hpp>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include <ferry/memory/execute.hpp>
#include <ferry/shm/mapped_order.hpp>

namespace ferry::shm {
namespace {

Failure nonsense(const char* what, std::uint64_t found) {
  return Failure(errc::malformed, fmt::format("commands: {} {} is out of range", what, found));
}

void write_failure(CommandAnswer& answer, const Failure& failure) {
  answer.code = static_cast<std::uint8_t>(failure.code());
  answer.effect = static_cast<std::uint8_t>(failure.effect());
  answer.text_length = static_cast<std::uint16_t>(std::min(failure.detail().size(), answer.text.size()));
  std::memcpy(answer.text.data(), failure.detail().data(), answer.text_length);
}

AtomicKind atomic_kind_of(CommandKind kind) noexcept {
  return kind == CommandKind::fetch_add ? AtomicKind::fetch_add
         : kind == CommandKind::swap    ? AtomicKind::swap
                                        : AtomicKind::compare_swap;
}

}  // namespace

bool CommandServer::has_work() const noexcept {
  return layout_.submitted.value.load(std::memory_order_seq_cst) != taken_;
}

Result<int> CommandServer::serve() {
  const std::uint64_t waiting = layout_.submitted.value.load(std::memory_order_acquire) - taken_;
  if (waiting > kSubmissions) {
    return nonsense("the number of submissions", waiting);
  }
  const auto count = static_cast<int>(std::min<std::uint64_t>(waiting, kAtOnce));
  int executed = 0;
  for (int turn = 0; turn < count; ++turn) {
    const std::uint64_t entry = layout_.submissions[taken_ % kSubmissions].load(std::memory_order_relaxed);
    ++taken_;
    const std::uint64_t index = entry & 0xff;
    if (index >= kCommands) {
      return nonsense("the index of a command", index);
    }
    executed += execute(layout_.commands[index], entry >> 8) ? 1 : 0;
  }
  if (count > 0) {
    layout_.taken.value.store(taken_, std::memory_order_release);
  }
  if (executed > 0) {
    layout_.done.value.store(done_, std::memory_order_seq_cst);
  }
  return executed;
}

// False: the initiator has taken it back.
bool CommandServer::execute(Command& command, std::uint64_t use) {
  std::uint64_t expected = Command::state_of(use, Command::kSubmitted);
  if (!command.state.compare_exchange_strong(expected, Command::state_of(use, Command::kExecuting))) {
    return false;
  }
  order_after();
  CommandRequest request;
  std::memcpy(&request, &command.request, sizeof request);
  CommandAnswer answer;
  if (auto value = perform(request)) {
    answer.value = *value;
  } else {
    write_failure(answer, value.error());
  }
  std::memcpy(&command.answer, &answer, sizeof answer);
  ++done_;
  order_before();
  command.state.store(Command::state_of(use, Command::kDone), std::memory_order_release);
  return true;
}

Result<std::uint64_t> CommandServer::perform(const CommandRequest& request) {
  const RegionHandle region{RegionSlot(request.slot), Generation(request.generation)};
  const bool moves_bytes = request.kind == CommandKind::read || request.kind == CommandKind::write;
  if (moves_bytes && (request.length > kStagingBytes || request.block >= kStagingBlocks)) {
    return nonsense("the length or the block of a command", request.length);
  }
  const auto without_value = [](Result<void> outcome) {
    return outcome ? Result<std::uint64_t>(0) : Result<std::uint64_t>(outcome.error());
  };
  switch (request.kind) {
    case CommandKind::read:
      return without_value(
          copy_from_region(regions_, region, request.offset, layout_.staging[request.block].data(), request.length));
    case CommandKind::write:
      return without_value(
          copy_to_region(regions_, region, request.offset, layout_.staging[request.block].data(), request.length));
    case CommandKind::fetch_add:
    case CommandKind::compare_swap:
    case CommandKind::swap:
      return atomic_on_region(regions_, region, request.offset, atomic_kind_of(request.kind), request.operand,
                              request.expected);
    case CommandKind::notify:
      return without_value(regions_.notify(region, request.operand));
  }
  return nonsense("the kind of a command", static_cast<std::uint64_t>(request.kind));
}

}  // namespace ferry::shm
