// VerbsDevice: the queue layer's Device over one port of an RDMA device: makes queue pairs, registers local memory, and
// tells events when the reactor polls it. Internal.
//
// Owner: the VerbsTransport. Any thread. While executor threads are idle they poll the completion queues; before they
// sleep these are armed, and the completion channel's descriptor wakes them.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <ferry/base/log.hpp>
#include <ferry/queue/device.hpp>
#include <ferry/transport/reactor.hpp>
#include <ferry/verbs/completion_queue.hpp>
#include <ferry/verbs/memory_region.hpp>
#include <ferry/verbs/protection_domain.hpp>
#include <ferry/verbs/verbs_queue_pair.hpp>

namespace ferry::verbs {

class VerbsDevice final : public queue::Device, private EventSource {
 public:
  // resource_exhausted, unsupported, …
  static Result<std::unique_ptr<VerbsDevice>> create(const Calls& calls, const VerbsOptions& options, Reactor& reactor,
                                                     Log& log);
  VerbsDevice(std::shared_ptr<ProtectionDomain> domain, std::shared_ptr<CompletionChannel> channel,
              const VerbsOptions& options, Reactor& reactor, Log& log);
  ~VerbsDevice() override;  // its queue pairs are gone

  // Joins the reactor; until end(). Both once.
  void begin();
  void end() noexcept;

  const queue::DeviceLimits& limits() const noexcept override { return limits_; }
  // Its queue pairs tell how far they have accepted the other end's requests (Qp::expected_packet).
  bool tells_progress() const noexcept { return context().is_soft_roce(); }
  Result<std::unique_ptr<queue::QueuePair>> create_queue_pair(const queue::QueuePairOptions& options,
                                                              queue::QueueEvents& events) override;
  Result<std::uint32_t> register_local(std::byte* memory, std::size_t length) override;
  void deregister_local(std::uint32_t local_key) noexcept override;
  Result<queue::RemoteAddress> remote_address(const RemoteRegion& region, std::uint64_t offset) const override;
  queue::RemoteAddress readable_word() const override;

  const std::shared_ptr<ProtectionDomain>& domain() const noexcept { return domain_; }
  Context& context() const noexcept { return domain_->context(); }

  // For its queue pairs.
  const VerbsOptions& options() const noexcept { return options_; }
  const std::string& name() const noexcept { return context().name(); }
  QueueAddress address_of(std::uint32_t queue_pair, std::uint32_t packet) const noexcept;
  void look_after(VerbsQueuePair& queue);  // complete_unposted(), until all has ended
  void remove(VerbsQueuePair& queue) noexcept;

  // Alive, for tests and reports.
  std::size_t queue_pairs() const noexcept;
  std::size_t local_registrations() const noexcept;

 private:
  // What the device says without being asked.
  class AsyncEvents final : public EventSource {
   public:
    explicit AsyncEvents(VerbsDevice& device) noexcept : device_(device) {}
    bool poll() noexcept override;
    int descriptor() const noexcept override { return device_.context().get()->async_fd; }
    bool prepare_to_sleep(bool&) noexcept override { return true; }
    void woken() noexcept override { polls_ = 0; }

   private:
    VerbsDevice& device_;
    std::uint32_t polls_ = 0;  // since a look
  };

  // EventSource: completions.
  bool poll() noexcept override;
  int descriptor() const noexcept override { return channel_->descriptor(); }
  bool prepare_to_sleep(bool& write) noexcept override;
  void woken() noexcept override { channel_->drain(); }

  using Teller = std::shared_ptr<QueueTeller>;
  template <class F>
  static void tell(const Teller& teller, F&& event) noexcept;
  void tell(const ibv_wc& completion) noexcept;
  Teller find(std::uint32_t serial) const noexcept;
  Result<std::shared_ptr<CompletionQueue>> completion_queue(std::size_t completions);
  bool dispatch(CompletionQueue& queue) noexcept;
  void on_async(const ibv_async_event& event) noexcept;
  void lose_all(const Failure& why) noexcept;
  void find_inline_bytes();

  const std::shared_ptr<ProtectionDomain> domain_;
  const std::shared_ptr<CompletionChannel> channel_;
  const VerbsOptions options_;
  Reactor& reactor_;
  Log& log_;
  queue::DeviceLimits limits_{};
  AsyncEvents async_{*this};
  bool has_begun_ = false;
  alignas(8) std::uint64_t word_ = 0;
  std::unique_ptr<MemoryRegion> word_region_;

  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<CompletionQueue>> completions_;
  std::unordered_map<std::uint32_t, Teller> queues_;       // by serial
  std::unordered_map<std::uint32_t, MemoryRegion> local_;  // by lkey
  std::vector<std::pair<Teller, Failure>> lost_;           // to be told
  std::vector<Teller> looked_after_;
  std::uint32_t next_serial_ = 1;
  Failure fatal_{};  // once the device is of no use any more

  std::atomic<bool> attention_{false};  // lost_ or looked_after_ has something
  std::deque<ibv_wc> found_;            // before a sleep; the poller's
};

}  // namespace ferry::verbs
