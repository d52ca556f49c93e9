// MessageLink: a ControlLink whose messages travel on a queue pair of their own once there is one. Before that, and
// when it fails, they travel on the control link beneath, so that a lost queue pair costs nothing but time: it is built
// anew meanwhile.
//
// Every frame has a number whichever way it takes. The receiver takes each once and in order; the sender keeps what it
// posted until it was acknowledged, and gives it to the link beneath when the queue pair fails, or when it closes.
// Sends never outnumber the receives at the other end. Stands between a transport's links and QueueConnection and
// QueueServer, which make it (MessageWay).
// Owner: as of any ControlLink; not destroyed within its own events. Any thread; one lock, never held while calling
// the events.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <ferry/queue/control.hpp>
#include <ferry/queue/device.hpp>
#include <ferry/queue/message_frame.hpp>
#include <ferry/queue/queue_limits.hpp>
#include <ferry/queue/staging.hpp>
#include <ferry/transport/node_core.hpp>

namespace ferry::queue {

class MessageLink final : public ControlLink, private ControlEvents, private QueueEvents {
 public:
  // Makes the link beneath, for these events.
  using MakeBeneath = std::function<std::unique_ptr<ControlLink>(ControlEvents& events)>;

  // The initiator's end, which asks for a queue pair once a few messages have passed, and the owner's.
  // device: outlives it.
  static std::unique_ptr<ControlLink> dial(NodeCore& node, Device& device, ControlEvents& events,
                                           const MakeBeneath& make, std::uint64_t few = kFewMessages);
  static std::unique_ptr<ControlLink> accept(NodeCore& node, Device& device, ControlEvents& events,
                                             const MakeBeneath& make);
  ~MessageLink() override;

  ProcessId peer() const noexcept override { return beneath_->peer(); }
  bool send(wire::Bytes&& message) noexcept override;
  // What was sent before still arrives, if the link beneath lives.
  void close(const Failure& why) noexcept override;

 private:
  enum class Side : std::uint8_t { initiator, owner };

  // offered: the other end has not been heard on it. lost: stopped; the other end has not said so.
  enum class State : std::uint8_t { none, offered, ready, lost };

  // A queue pair with its memory. Destroyed without the lock.
  struct Queue {
    std::unique_ptr<Staging> sends;
    std::unique_ptr<Staging> receives;
    std::unique_ptr<QueuePair> pair;
  };

  // A frame that was posted: its slot is free once it has completed and been acknowledged.
  struct Posted {
    std::uint64_t number = 0;  // 0: a receipt
    bool is_first = false;
    bool is_last = false;
    std::uint16_t slot = Staging::kNone;
    std::size_t length = 0;  // of the frame's bytes
    bool is_complete = false;
  };

  MessageLink(NodeCore& node, Device& device, ControlEvents& events, Side side, std::uint64_t few);

  void on_control_open() noexcept override;
  void on_control(wire::Bytes&& message) noexcept override;
  void on_control_closed(const Failure& why, PeerState state) noexcept override;
  void on_completion(QueuePair& queue, const WorkCompletion& completion) noexcept override;
  void on_queue_lost(QueuePair& queue, const Failure& why) noexcept override;

  // All of these under the lock.
  Result<void> take(Beneath kind, wire::ByteView body, Queue& retired);
  Result<void> take_receipt(const FrameReceipt& receipt);
  Result<void> take_sent(const WorkCompletion& completion);
  void take_completion(std::uint64_t id);
  Result<Queue> make_queue();
  void offer_first_queue();
  QueueOffer own_offer() const;
  void take_offer(const QueueOffer& offer) noexcept;
  void begin_life(std::uint32_t life, Queue&& queue) noexcept;
  void offer_queue();
  void answer_offer(const QueueOffer& offer);
  void lose_queue(const Failure& why);
  void divert();
  void pump();
  bool post(const MessageFrame& frame);
  void acknowledge();
  void free_slots();
  bool completes_in_order() const noexcept { return device_.limits().order != OrderClass::srd; }
  void be_ready() noexcept;
  std::size_t credits() const noexcept;
  bool has_room_there() const noexcept;
  FrameReceipt receipt() noexcept;
  void break_off(const Failure& why);
  void note(const std::string& what) const;
  void note_stay(const Failure& why) const;

  // Unlocks; calls the events, unless another thread is doing so.
  void deliver(std::unique_lock<std::mutex>& lock) noexcept;

  NodeCore& node_;
  Device& device_;
  ControlEvents& events_;
  const Side side_;
  const std::uint64_t few_;
  std::unique_ptr<ControlLink> beneath_;  // constant once it is made

  mutable std::mutex mutex_;
  std::condition_variable changed_;  // is_delivering_
  bool is_delivering_ = false;
  bool is_closed_ = false;  // no event follows
  bool is_ended_ = false;   // the link beneath has, or will
  bool tells_open_ = false;
  std::optional<std::pair<Failure, PeerState>> end_;  // to be told, behind the messages

  // Incoming.
  MessageAssembler assembler_;
  // Outgoing.
  std::uint64_t next_number_ = 1;
  std::uint64_t first_number_ = 1;   // that is posted in this life
  std::uint64_t acknowledged_ = 0;   // of what was sent
  std::deque<wire::Bytes> waiting_;  // for credits
  std::size_t offset_ = 0;           // of the first one's next frame
  // The queue pair.
  State state_ = State::none;
  bool is_refused_ = false;  // this device has none to offer
  std::uint32_t life_ = 0;
  Queue queue_;
  std::size_t receives_there_ = 0;
  std::size_t sends_there_ = 0;
  std::size_t silent_ = 0;          // Sends posted since the last that is signaled
  std::uint64_t sent_ = 0;          // Sends posted in this life
  std::uint64_t returned_ = 0;      // of these, those whose receives were used and posted again
  std::uint64_t received_ = 0;      // same, here
  std::uint64_t told_ = 0;          // of received_
  std::uint64_t told_taken_ = 0;    // frames acknowledged
  std::deque<Posted> posted_;       // that still have their slots, oldest first
  std::uint64_t first_posted_ = 0;  // id of posted_.front()
};

class MessageDialer final : public ControlDialer {
 public:
  MessageDialer(NodeCore& node, Device& device, std::unique_ptr<ControlDialer> beneath, std::uint64_t few) noexcept
      : node_(node), device_(device), beneath_(std::move(beneath)), few_(few) {}
  std::unique_ptr<ControlLink> dial(ControlEvents& events) noexcept override;
  std::string describe() const override { return beneath_->describe(); }

 private:
  NodeCore& node_;
  Device& device_;
  const std::unique_ptr<ControlDialer> beneath_;
  const std::uint64_t few_;
};

}  // namespace ferry::queue
