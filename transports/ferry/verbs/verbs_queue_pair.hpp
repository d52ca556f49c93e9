// VerbsQueuePair: the queue layer's QueuePair over a device's. Internal.
//
// Owner: whoever created it by VerbsDevice::create_queue_pair(). post(), post_receive() by one thread at a time; its
// events come from the device's polling.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <ferry/queue/queue_pair.hpp>
#include <ferry/verbs/qp.hpp>

namespace ferry::verbs {

class VerbsDevice;
class VerbsQueuePair;

// What the device's polling holds of a queue pair: it tells events, one at a time, until the queue pair is gone.
struct QueueTeller {
  std::mutex mutex;
  std::condition_variable idle;
  VerbsQueuePair* queue = nullptr;  // null once it is being destroyed
  std::thread::id teller{};         // which thread is inside an event
};

// Ids of what was posted and has not ended, in order. The position of an entry in all that was ever posted names it to
// the device.
class PostedIds {
 public:
  struct Entry {
    std::uint64_t id = 0;
    bool is_told = true;       // its success, too
    std::uint32_t packet = 0;  // number of its first one
    std::uint32_t packets = 0;
  };

  explicit PostedIds(std::size_t capacity) : ring_(capacity) {}
  std::size_t room() const noexcept { return ring_.size() - (next_ - first_); }
  std::size_t size() const noexcept { return next_ - first_; }
  std::uint32_t push(const Entry& entry) noexcept {
    ring_[next_ % ring_.size()] = entry;
    return static_cast<std::uint32_t>(next_++) & kMask;
  }
  void retract(std::size_t count) noexcept { next_ -= count; }
  // Takes the entry at the position and all before it, which have ended in silence. False: there is none.
  bool take(std::uint32_t position, Entry& entry) noexcept;
  // Calls each(entry) for those that have not ended.
  template <class Each>
  void for_each(Each&& each) const {
    for (std::uint64_t at = first_; at != next_; ++at) {
      each(ring_[at % ring_.size()]);
    }
  }
  // The oldest.
  Entry take_first() noexcept { return ring_[first_++ % ring_.size()]; }

  static constexpr std::uint32_t kMask = 0x7fffffff;

 private:
  std::vector<Entry> ring_;
  std::uint64_t first_ = 0;
  std::uint64_t next_ = 0;
};

class VerbsQueuePair final : public queue::QueuePair {
 public:
  VerbsQueuePair(VerbsDevice& device, Qp qp, const queue::QueuePairOptions& options, queue::QueueEvents& events,
                 std::uint32_t serial, std::uint32_t packet);
  ~VerbsQueuePair() override;

  wire::Bytes address() const override { return encode(own_); }
  Result<void> connect(wire::ByteView other) override;
  Result<void> post(std::span<const queue::WorkRequest> requests) override;
  Result<void> post_receive(std::uint64_t id, std::byte* local, std::size_t length, std::uint32_t local_key) override;
  void stop() noexcept override;
  bool has_refused() const noexcept override;
  std::optional<std::uint32_t> progress() const noexcept override;
  queue::Acceptance acceptance(std::uint64_t id, std::uint32_t progress) const noexcept override;

  // For the device. serial: names it, never reused.
  std::uint32_t serial() const noexcept { return serial_; }
  const std::shared_ptr<QueueTeller>& teller() const noexcept { return teller_; }
  ibv_qp* qp() const noexcept { return qp_.get(); }
  void complete(const ibv_wc& completion) noexcept;
  // Ends what the device did not take though it took what was before it. False: it is not time yet.
  bool complete_unposted() noexcept;
  void lose(const Failure& why) noexcept;
  // It cannot be told any more why it is in the error state.
  void note_fatal() noexcept;

 private:
  void prepare(const queue::WorkRequest& request, ibv_send_wr& work, ibv_sge& piece, bool is_signaled) const noexcept;
  Result<void> check(std::span<const queue::WorkRequest> requests) const;
  void stop_locked() noexcept;

  VerbsDevice& device_;
  const queue::QueuePairOptions options_;
  queue::QueueEvents& events_;
  const std::uint32_t serial_;
  const std::shared_ptr<QueueTeller> teller_ = std::make_shared<QueueTeller>();

  mutable std::mutex mutex_;
  mutable Qp qp_;       // progress() stops it for good
  QueueAddress own_{};  // constant
  bool is_connected_ = false;
  bool is_stopped_ = false;
  bool was_in_error_ = false;  // when it was stopped
  bool has_failed_ = false;    // a request or receive of this end has: the error state says nothing of the other end's
  bool is_fatal_ = false;
  PostedIds requests_;
  PostedIds receives_;
  std::vector<PostedIds::Entry> failed_;  // requests that ended otherwise than with success
  std::uint32_t next_packet_ = 0;         // number of the next request's first, as QueueAddress counts
  std::size_t silent_ = 0;                // requests since the last one that the device was to tell of
  std::size_t unposted_ = 0;              // the latest of requests_ that the device did not take
  std::vector<ibv_send_wr> works_;
  std::vector<ibv_sge> pieces_;
};

}  // namespace ferry::verbs
