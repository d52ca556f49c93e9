// CommandQueue: the initiator's side of commands: which are under way, which staging blocks are free.
//
// Mechanics only: knows nothing of operations. Not thread-safe; PendingOperations guards it. What the owner writes may
// be anything: a state that cannot be is reported as malformed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <ferry/base/result.hpp>
#include <ferry/shm/channel_layout.hpp>

namespace ferry::shm {

class CommandQueue {
 public:
  explicit CommandQueue(ChannelLayout& layout) noexcept : layout_(layout) {}

  // True if a command can be submitted now, with a staging block if it needs one.
  bool has_room(bool with_block) const noexcept;

  unsigned take_block() noexcept;  // has_room(true)
  void give_block(unsigned block) noexcept { free_blocks_ |= std::uint32_t{1} << block; }
  std::byte* block_data(unsigned block) const noexcept { return layout_.staging[block].data(); }

  // The index of the command; the owner may have to be woken. has_room().
  unsigned submit(const CommandRequest& request) noexcept;

  // True: the owner will never execute it, and the command is free again. False: it executes, or is done.
  bool take_back(unsigned index) noexcept;

  // The answer, if the command is done, which makes it free again; none: not yet. malformed.
  Result<std::optional<CommandAnswer>> collect(unsigned index) noexcept;

  // True if commands were done since the last call; sequentially consistent.
  bool has_news() const noexcept { return layout_.done.value.load(std::memory_order_seq_cst) != done_seen_; }
  void see_news() noexcept { done_seen_ = layout_.done.value.load(std::memory_order_seq_cst); }

  std::uint64_t under_way() const noexcept { return out_; }  // a bit for each index

 private:
  ChannelLayout& layout_;
  std::uint64_t out_ = 0;
  std::uint32_t free_blocks_ = (std::uint32_t{1} << kStagingBlocks) - 1;
  std::array<std::uint64_t, kCommands> uses_{};
  std::uint64_t submitted_ = 0;
  std::uint64_t done_seen_ = 0;
};
static_assert(kCommands == 64 && kStagingBlocks < 32);

}  // namespace ferry::shm
