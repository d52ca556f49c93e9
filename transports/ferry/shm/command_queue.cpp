#include <ferry/shm/command_queue.hpp>

#include <bit>
#include <cstring>

#include <fmt/format.h>

#include <ferry/shm/mapped_order.hpp>

namespace ferry::shm {

bool CommandQueue::has_room(bool with_block) const noexcept {
  // Entries of commands that were taken back stay until the owner comes by.
  const std::uint64_t waiting = submitted_ - layout_.taken.value.load(std::memory_order_acquire);
  return out_ != ~std::uint64_t{0} && waiting < kSubmissions && (!with_block || free_blocks_ != 0);
}

unsigned CommandQueue::take_block() noexcept {
  const auto block = static_cast<unsigned>(std::countr_zero(free_blocks_));
  free_blocks_ &= free_blocks_ - 1;
  return block;
}

unsigned CommandQueue::submit(const CommandRequest& request) noexcept {
  const auto index = static_cast<unsigned>(std::countr_one(out_));
  out_ |= std::uint64_t{1} << index;
  const std::uint64_t use = ++uses_[index];
  Command& command = layout_.commands[index];
  std::memcpy(&command.request, &request, sizeof request);
  order_before();
  command.state.store(Command::state_of(use, Command::kSubmitted), std::memory_order_release);
  layout_.submissions[submitted_ % kSubmissions].store(use << 8 | index, std::memory_order_relaxed);
  layout_.submitted.value.store(++submitted_, std::memory_order_seq_cst);
  return index;
}

bool CommandQueue::take_back(unsigned index) noexcept {
  std::uint64_t expected = Command::state_of(uses_[index], Command::kSubmitted);
  if (!layout_.commands[index].state.compare_exchange_strong(expected,
                                                             Command::state_of(uses_[index], Command::kIdle))) {
    return false;
  }
  out_ &= ~(std::uint64_t{1} << index);
  return true;
}

Result<std::optional<CommandAnswer>> CommandQueue::collect(unsigned index) noexcept {
  Command& command = layout_.commands[index];
  const std::uint64_t use = uses_[index];
  const std::uint64_t state = command.state.load(std::memory_order_acquire);
  if (state == Command::state_of(use, Command::kSubmitted) || state == Command::state_of(use, Command::kExecuting)) {
    return std::optional<CommandAnswer>{};
  }
  if (state != Command::state_of(use, Command::kDone)) {
    return Failure(errc::malformed,
                   fmt::format("commands: state {:#x} of command {} in its use {} cannot be", state, index, use));
  }
  order_after();
  CommandAnswer answer;
  std::memcpy(&answer, &command.answer, sizeof answer);
  if (answer.code > kErrcLast || answer.effect > 1 || answer.text_length > answer.text.size()) {
    return Failure(errc::malformed,
                   fmt::format("commands: the answer to command {} has code {}, effect {} and {} bytes "
                               "of text",
                               index, answer.code, answer.effect, answer.text_length));
  }
  out_ &= ~(std::uint64_t{1} << index);
  return std::optional(answer);
}

}  // namespace ferry::shm
