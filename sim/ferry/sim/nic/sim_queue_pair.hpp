// SimQueuePair: the QueuePair of a simulated NIC: a Requester and a Responder, and whom they talk to. Internal.
//
// Owner: whoever created it by Nic::create_queue_pair. When its process is killed, nothing of it touches memory or
// calls anybody any more.
#pragma once

#include <memory>

#include <ferry/queue/queue_pair.hpp>
#include <ferry/sim/nic/requester.hpp>
#include <ferry/sim/nic/responder.hpp>

namespace ferry::sim {

class SimQueuePair final : public queue::QueuePair {
 public:
  SimQueuePair(Nic& nic, const queue::QueuePairOptions& options, queue::QueueEvents& events);
  ~SimQueuePair() override;

  wire::Bytes address() const override;
  Result<void> connect(wire::ByteView other) override;
  Result<void> post(std::span<const queue::WorkRequest> requests) override;
  Result<void> post_receive(std::uint64_t id, std::byte* local, std::size_t length, std::uint32_t local_key) override;
  void stop() noexcept override;
  bool has_refused() const noexcept override { return responder_.has_refused(); }
  std::optional<std::uint32_t> progress() const noexcept override;
  queue::Acceptance acceptance(std::uint64_t id, std::uint32_t progress) const noexcept override {
    return requester_.acceptance(id, progress);
  }

  // For the NIC.
  const queue::QueuePairOptions& options() const noexcept { return options_; }
  queue::QueueEvents& events() const noexcept { return events_; }
  QueueNumber number() const noexcept { return number_; }
  QueueNumber remote() const noexcept { return remote_; }
  ProcessNumber process() const noexcept;
  ProcessNumber remote_process() const noexcept { return remote_process_; }
  bool is_connected() const noexcept { return state_ == State::connected; }
  Responder& responder() noexcept { return responder_; }

  void on_packet(Packet& packet) noexcept;
  // Packets of one queue pair do not pass each other, so no two arrive at one instant: when one that would arrive then
  // does.
  TimePoint behind_earlier_packets(TimePoint due) noexcept {
    return last_due_ = std::max(last_due_ + Duration(1), due);
  }

  void enter_error() noexcept;             // its requests have ended
  void lose(const Failure& why) noexcept;  // in a step of its own: stops it and tells on_queue_lost
  void kill() noexcept;

 private:
  enum class State : std::uint8_t { idle, connected, error, dead };
  struct Loss : Step {
    explicit Loss(SimQueuePair* owner) noexcept : Step(&SimQueuePair::tell_loss), queue(owner) {}
    SimQueuePair* queue;
    Failure why{};
  };
  static void tell_loss(Step& step) noexcept;

  Nic& nic_;
  const queue::QueuePairOptions options_;
  queue::QueueEvents& events_;
  const QueueNumber number_;
  State state_ = State::idle;
  QueueNumber remote_{};
  ProcessNumber remote_process_{};
  TimePoint last_due_{};
  Requester requester_;
  Responder responder_;
  std::unique_ptr<Loss> loss_;  // once there is one
};

}  // namespace ferry::sim
