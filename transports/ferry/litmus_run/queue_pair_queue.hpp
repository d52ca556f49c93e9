// QueuePairQueue: a litmus queue that is one queue pair of a device: raw requests, in order, with the test's own fences
// and no others. QueuePairTarget: the owner's end of it, which counts immediates.
//
// Whoever composes them registers the memory, exchanges the addresses of both ends and connects them; the device is
// polled by others. A run is over when gets behind its puts have returned, which cover them (classes strict and
// unordered; on iwarp and srd they prove nothing). The device outlives both.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ferry/litmus_run/board.hpp>
#include <ferry/litmus_run/real_queue.hpp>
#include <ferry/queue/device.hpp>

namespace ferry::litmus_run {

// Why queue pairs of such a device cannot run the program; none where they can. atomics_with_cpu: those of the device
// exclude its processor's.
std::optional<std::string> why_not_on_queue_pairs(const litmus::Program& program, const queue::DeviceLimits& limits,
                                                  bool atomics_with_cpu);

// A request names one range on each side, so the words of a message lie side by side where there is such a message.
Layout layout_for_queue_pairs(const litmus::Program& program) noexcept;

// Memory that requests may name, on its own side or on the other.
struct LocalMemory {
  std::byte* base = nullptr;
  std::uint32_t key = 0;
};

class QueuePairQueue final : public RealQueue, private queue::QueueEvents {
 public:
  struct Place {
    queue::Device* device = nullptr;
    LocalMemory local{};            // the initiator's
    queue::RemoteAddress remote{};  // where the owner's begins
  };
  // resource_exhausted, …: the device's.
  static Result<std::unique_ptr<QueuePairQueue>> create(const litmus::Program& program, litmus::QueueIndex queue,
                                                        const Layout& layout, Board& board, const Place& place);
  ~QueuePairQueue() override;

  queue::QueuePair& queue_pair() noexcept { return *pair_; }

  void clear(std::size_t slot) noexcept override;
  bool post(std::size_t slot, const litmus::Operation& operation) noexcept override;
  bool take_completion(std::size_t slot) noexcept override;
  bool is_quiet(std::size_t slot) noexcept override;
  Failure failure(std::size_t slot) const override;

 private:
  struct Run {
    std::vector<const litmus::Operation*> posted;
    std::size_t taken = 0;
    std::uint32_t immediates = 0;
    std::size_t covered = 0;  // operations of `posted` that covers were posted for
    std::size_t covers = 0;   // posted
    std::atomic<std::size_t> completed{0};
    std::atomic<std::size_t> covers_completed{0};
    std::optional<Failure> refused{};  // a post
  };

  QueuePairQueue(const litmus::Program& program, litmus::QueueIndex queue, const Layout& layout, Board& board,
                 const Place& place);

  void on_completion(queue::QueuePair& pair, const queue::WorkCompletion& completion) noexcept override;
  void on_queue_lost(queue::QueuePair& pair, const Failure& why) noexcept override;

  queue::WorkRequest request_of(std::size_t slot, const litmus::Operation& operation) const noexcept;
  bool post_request(std::size_t slot, const queue::WorkRequest& request) noexcept;
  std::byte* spare(std::size_t slot, std::size_t position) noexcept {
    return reinterpret_cast<std::byte*>(spare_.get() + (slot * capacity_ + position) * longest_);
  }

  const litmus::QueueIndex queue_;
  const Layout layout_;
  Board& board_;
  const Place place_;
  std::size_t capacity_ = 0;                // operations of one run
  std::size_t longest_ = 1;                 // words of one
  std::unique_ptr<litmus::Value[]> spare_;  // by slot and operation: inline copies, then what a cover reads
  std::uint32_t spare_key_ = 0;
  std::unique_ptr<Run[]> runs_;  // by slot
  std::atomic<int> failed_{-1};  // a WorkStatus; -2: lost
  std::unique_ptr<queue::QueuePair> pair_;
};

class QueuePairTarget final : private queue::QueueEvents {
 public:
  static Result<std::unique_ptr<QueuePairTarget>> create(Board& board, queue::Device& device);
  ~QueuePairTarget();

  queue::QueuePair& queue_pair() noexcept { return *pair_; }

 private:
  explicit QueuePairTarget(Board& board) : board_(board) {}

  void on_completion(queue::QueuePair& pair, const queue::WorkCompletion& completion) noexcept override;
  void on_queue_lost(queue::QueuePair& pair, const Failure& why) noexcept override;

  Board& board_;
  std::unique_ptr<queue::QueuePair> pair_;
};

}  // namespace ferry::litmus_run
