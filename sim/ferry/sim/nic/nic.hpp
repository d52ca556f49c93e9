// Nic: the simulated NIC of one process: makes queue pairs, keeps their completions until the process polls, has one
// unit that executes atomics, and reaches the process's memory by key.
//
// It works on while its process does not. Owner: the SimTransport, or a test. One thread.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include <ferry/queue/device.hpp>
#include <ferry/sim/nic/arrival.hpp>
#include <ferry/sim/nic/network.hpp>
#include <ferry/sim/nic/pool.hpp>

namespace ferry::sim {

// The memory of the NIC's process, as packets find it.
class NicMemory {
 public:
  // The address of these bytes, if the key is alive and allows it; else null.
  virtual std::byte* reach(const queue::RemoteAddress& remote, Access needed, std::uint64_t length) noexcept = 0;
  virtual void invalidate(std::uint32_t key) noexcept = 0;
  virtual Result<queue::RemoteAddress> remote_address(const RemoteRegion& region, std::uint64_t offset) const = 0;

 protected:
  ~NicMemory() = default;
};

class Nic final : public queue::Device {
 public:
  // The key of readable_word(); NicMemory gives other ones.
  static constexpr std::uint32_t kWordKey = 0xffffffffU;

  Nic(Network& network, ProcessNumber process, NicMemory& memory);
  ~Nic() override;
  Nic(const Nic&) = delete;
  Nic& operator=(const Nic&) = delete;

  const queue::DeviceLimits& limits() const noexcept override { return limits_; }
  Result<std::unique_ptr<queue::QueuePair>> create_queue_pair(const queue::QueuePairOptions& options,
                                                              queue::QueueEvents& events) override;
  Result<std::uint32_t> register_local(std::byte* memory, std::size_t length) override;
  void deregister_local(std::uint32_t local_key) noexcept override;
  Result<queue::RemoteAddress> remote_address(const RemoteRegion& region, std::uint64_t offset) const override {
    return memory_.remote_address(region, offset);
  }
  queue::RemoteAddress readable_word() const override { return {kWordKey, 0}; }

  // Counts bytes that are registered: resource_exhausted beyond FabricOptions::locked_memory.
  Result<void> lock_memory(std::uint64_t bytes);
  void unlock_memory(std::uint64_t bytes) noexcept { locked_ -= bytes; }

  // These bytes are about to be out of reach: what was accepted for them takes effect before it returns.
  void finish(const std::byte* at, std::uint64_t length) noexcept;
  // The process was killed: its queue pairs do nothing any more.
  void kill() noexcept;

  // --- For its queue pairs.
  struct Pause {
    Duration delay{};
    bool is_hold = false;  // ends when something waits for it
  };

  Network& network() const noexcept { return network_; }
  const FabricOptions& options() const noexcept { return network_.options(); }
  ProcessNumber process() const noexcept { return process_; }
  TimePoint now() const noexcept { return network_.scheduler().now(); }

  void schedule(Step& step, StepKind kind, std::uint64_t number, Duration delay) noexcept {
    network_.scheduler().schedule(step, kind, process_, number, delay);
  }
  void withdraw(Step& step) noexcept { network_.scheduler().withdraw(step); }
  void hasten(Step& step, std::uint64_t number) noexcept;
  void fold_data(const std::byte* at, std::uint64_t length) noexcept;

  std::uint64_t choose(ChoiceKind kind, std::uint64_t n, QueueNumber queue) noexcept {
    return network_.scheduler().choose(kind, n, queue.value());
  }
  // Tells the network's NicWatch, if it has one, that these bytes of this process were written or sampled for the
  // other end of the queue pair, or that its message is there.
  void note_write(const Arrival& arrival, std::uint64_t queue) noexcept;
  void note_read(const std::byte* at, std::uint64_t length, std::uint64_t queue) noexcept;
  void note_send(const SimQueuePair& queue, const Arrival& entry) noexcept;

  // How long an arrival that may act waits all the same; how much of a copy is done at once (offset: of `at`, in
  // something that does not hang on where memory happens to lie); how long the NIC idles.
  Pause pause(const Arrival& arrival, std::uint64_t queue) noexcept;
  std::uint64_t torn(const std::byte* at, std::uint64_t offset, std::uint64_t length, std::uint64_t queue) noexcept;
  Duration stall(QueueNumber queue) noexcept;

  Arrival& take_arrival() { return arrivals_.take(); }
  void give_back(Arrival& arrival) noexcept;

  bool may_take_unit(const ArrivalQueue& queue) const noexcept { return unit_ == nullptr || unit_ == &queue; }
  void take_unit(ArrivalQueue& queue) noexcept { unit_ = &queue; }
  void release_unit() noexcept;
  void finish_unit() noexcept;

  std::byte* reach(const queue::RemoteAddress& remote, Access needed, std::uint64_t length) noexcept;
  NicMemory& memory() noexcept { return memory_; }
  void complete(SimQueuePair& queue, const queue::WorkCompletion& completion) noexcept;
  void remove(SimQueuePair& queue) noexcept;

 private:
  struct Entry {
    SimQueuePair* queue;
    queue::WorkCompletion completion;
  };
  struct Poll : Step {
    explicit Poll(Nic* owner) noexcept : Step(&Nic::poll), nic(owner) {}
    Nic* nic;
  };
  static void poll(Step& step) noexcept;

  Network& network_;
  const ProcessNumber process_;
  NicMemory& memory_;
  queue::DeviceLimits limits_{};
  std::uint64_t locked_ = 0;                      // bytes
  std::map<std::uint32_t, std::uint64_t> local_;  // bytes by key, where local memory needs keys
  std::uint32_t last_local_ = 0;
  std::vector<SimQueuePair*> queues_;  // in the order of making
  std::deque<Entry> completions_;      // not polled
  ArrivalQueue* unit_ = nullptr;       // has an atomic under way
  alignas(8) std::uint64_t word_ = 0;
  bool is_dead_ = false;
  Pool<Arrival> arrivals_;
  Poll poll_;
};

}  // namespace ferry::sim
