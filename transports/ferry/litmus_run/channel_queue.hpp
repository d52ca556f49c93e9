// ChannelQueue: a litmus queue as ferry's users have it: each operation an independent one of the public API, started
// behind the others without waiting for any, over whichever transport reaches the owner.
//
// A fence is what a user writes: the wait for the gets and atomics before it. Atomics are of the cpu domain. An
// immediate is a write that notifies the owner's buffer; the tag says of which run and queue (tag_of).
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <ferry/buffer/buffer_ref.hpp>
#include <ferry/litmus_run/board.hpp>
#include <ferry/litmus_run/real_queue.hpp>

namespace ferry::litmus_run {

constexpr std::uint64_t tag_of(std::size_t slot, litmus::QueueIndex queue) noexcept {
  return std::uint64_t{slot} << 8 | queue;
}
constexpr std::size_t slot_of(std::uint64_t tag) noexcept {
  return static_cast<std::size_t>(tag >> 8);
}
constexpr litmus::QueueIndex queue_of(std::uint64_t tag) noexcept {
  return static_cast<litmus::QueueIndex>(tag & 0xFF);
}

class ChannelQueue final : public RealQueue {
 public:
  // local: the initiator's memory, remote: all of the owner's. Both outlive it, and so do program and board.
  ChannelQueue(const litmus::Program& program, litmus::QueueIndex queue, const Layout& layout, Board& board,
               std::byte* local, const BufferRef& remote);

  ~ChannelQueue() override;  // blocks until nothing of it is under way

  void clear(std::size_t slot) noexcept override;
  bool post(std::size_t slot, const litmus::Operation& operation) noexcept override;
  bool take_completion(std::size_t slot) noexcept override;
  bool is_quiet(std::size_t slot) noexcept override;
  Failure failure(std::size_t slot) const override;

 private:
  struct Posted {
    std::optional<Operation> operation;
    std::vector<Chunk> chunks;
    std::vector<litmus::Value> copied;  // inline: what was posted
    std::byte* result = nullptr;        // of an atomic
    bool is_put = false;
    std::atomic<bool> is_complete{false};
  };
  struct Run {
    std::size_t posted = 0;
    std::size_t taken = 0;
    std::uint32_t immediates = 0;
    Failure failure{};  // of a post
  };

  std::span<Posted> operations_of(std::size_t slot) const noexcept {
    return std::span(posted_.get() + slot * capacity_, capacity_);
  }
  OperationRequest request_of(std::size_t slot, const litmus::Operation& operation, Posted& posted) const;
  void start(Posted& posted, const OperationRequest& request);
  static void complete_here(Posted& posted) noexcept;
  static void complete(Operation& operation) noexcept;

  const litmus::QueueIndex queue_;
  const Layout layout_;
  Board& board_;
  std::byte* const local_;
  const BufferRef remote_;
  std::size_t capacity_ = 0;  // operations of one run
  std::unique_ptr<Posted[]> posted_;
  std::vector<Run> runs_;  // by slot
};

}  // namespace ferry::litmus_run
