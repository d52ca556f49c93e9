// QueueInbound: the owner's end of a channel: takes the lanes that the initiator asks for, posts their receives,
// answers its marks, executes its commands and atomics from the RegionTable, and discards lanes.
//
// One-sided requests of the lanes reach memory without it. Owner: the QueueServer, shared with whoever may still want
// to answer. Any thread; one lock, never held while calling the sink or destroying a queue pair.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include <ferry/queue/command.hpp>
#include <ferry/queue/control.hpp>
#include <ferry/queue/queue_server.hpp>
#include <ferry/queue/staging.hpp>
#include <ferry/transport/inbound.hpp>

namespace ferry::queue {

class QueueInbound final : public Inbound,
                           private ControlEvents,
                           private QueueEvents,
                           public std::enable_shared_from_this<QueueInbound> {
 public:
  QueueInbound(NodeCore& node, QueueServer& server, Device& device, TransportId transport) noexcept
      : node_(node), server_(server), device_(device), transport_(transport), farewell_(*this) {}
  ~QueueInbound() override;

  // Once.
  void begin(const QueueServer::MakeLink& make);
  // Ends it, unless it has ended; returns once nothing of its lanes can have an effect. goodbye: tells the initiator
  // that this process ends.
  void end(const Failure& why, bool goodbye) noexcept;

  ProcessId peer() const noexcept override { return initiator_; }
  bool send(wire::Bytes&& message) noexcept override;

 private:
  // strange: nothing was heard yet.
  enum class State : unsigned char { strange, greeting, open, ending, ended };

  // Ends it outside of its queue pairs' events.
  struct Farewell : Timer {
    explicit Farewell(QueueInbound& owner) noexcept
        : Timer([](Timer& timer) noexcept { static_cast<Farewell&>(timer).inbound.end_malformed(); }), inbound(owner) {}
    QueueInbound& inbound;
    Failure why{};  // set once it is started
  };

  // Queue pair and receives of one lane.
  struct OwnerLane {
    std::uint32_t id = 0;
    std::uint64_t received = 0;  // receives used and posted again
    std::unique_ptr<Staging> receives;
    std::unique_ptr<QueuePair> queue;
  };

  void on_control_open() noexcept override {}
  void on_control(wire::Bytes&& message) noexcept override;
  void on_control_closed(const Failure& why, PeerState state) noexcept override;
  void on_completion(QueuePair& queue, const WorkCompletion& completion) noexcept override;
  void on_queue_lost(QueuePair&, const Failure&) noexcept override {}  // its initiator discards it

  // inbound_control.cpp; take() and greet() without the lock.
  Result<void> take(Control kind, wire::ByteView body);
  Result<void> greet(wire::ByteView body);
  Result<void> open_lane(const OpenLane& open);
  Result<OwnerLane> make_lane(const OpenLane& open);
  void discard_lane(std::uint32_t id);
  void finish(const Failure& why, bool for_good, bool goodbye, bool waits) noexcept;
  void end_malformed() noexcept;
  void log_end(const Failure& why) const;
  std::string who() const;

  // inbound_commands.cpp; locked.
  Result<void> on_receive(OwnerLane& lane, const WorkCompletion& completion);
  void repost(OwnerLane& lane, std::uint16_t slot);
  Result<void> execute(OwnerLane& lane, std::uint16_t slot, const Command& command);
  Failure execute_write(const Command& command);
  Failure execute_read(const Command& command, wire::Bytes& data);
  Result<Executed> execute_atomic_once(const AtomicRequest& request);
  bool is_skipped(std::uint64_t sequence) const noexcept;
  Result<void> note_failure(std::uint64_t sequence, const Failure& failure);

  NodeCore& node_;
  QueueServer& server_;
  Device& device_;
  const TransportId transport_;
  ProcessId initiator_{};  // constant once the link is made

  mutable std::mutex mutex_;
  std::condition_variable changed_;  // state_
  State state_ = State::strange;
  std::unique_ptr<ControlLink> link_;
  std::shared_ptr<QueueSession> session_;
  OrderClass order_{};  // of the channel: the weaker of both devices'
  std::vector<OwnerLane> lanes_;
  std::set<std::uint64_t> failed_sequences_;
  Farewell farewell_;
};

}  // namespace ferry::queue
