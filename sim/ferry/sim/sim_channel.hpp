// SimChannel: one open way between two simulated processes: messages there and answers back, both in order, and the
// news of its end. Internal to the fabric.
//
// MessageLane: one direction. A message arrives in a step of its own, never before one sent earlier.
// Owner: shared by the initiator's connection, the owner's inbound end and the operations in flight. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <ferry/base/failure.hpp>
#include <ferry/base/time.hpp>
#include <ferry/sim/step.hpp>
#include <ferry/transport/connection.hpp>
#include <ferry/wire/bytes.hpp>

namespace ferry::sim {

class SimChannel;
class SimConnection;
class SimFabric;
class SimInbound;
class SimTransport;

class MessageLane {
 public:
  using Deliver = void (SimChannel::*)(wire::Bytes&& message) noexcept;

  MessageLane(SimChannel& channel, Deliver deliver, ProcessNumber receiver) noexcept;

  void push(wire::Bytes&& message) noexcept;

  // When what is sent now would arrive, at the earliest.
  TimePoint last_arrival() const noexcept { return last_due_; }

  std::size_t size() const noexcept { return queue_.size() - head_; }
  // Keeps the oldest `count` messages under way and drops those behind.
  void keep(std::size_t count) noexcept;
  void clear() noexcept { keep(0); }

 private:
  struct Message {
    TimePoint due;
    wire::Bytes bytes;
  };
  struct Arrival : Step {
    explicit Arrival(MessageLane* owner) noexcept : Step(&MessageLane::arrive), lane(owner) {}
    MessageLane* lane;
  };

  static void arrive(Step& step) noexcept;
  void schedule_head() noexcept;

  SimChannel& channel_;
  const Deliver deliver_;
  const ProcessNumber receiver_;
  TimePoint last_due_{};
  std::vector<Message> queue_;  // from head_ on
  std::size_t head_ = 0;
  Arrival arrival_;
};

class SimChannel {
 public:
  SimChannel(SimFabric& fabric, std::uint64_t number, SimConnection& initiator, SimTransport& owner);
  ~SimChannel();
  SimChannel(const SimChannel&) = delete;
  SimChannel& operator=(const SimChannel&) = delete;

  SimFabric& fabric() const noexcept { return fabric_; }
  std::uint64_t number() const noexcept { return number_; }
  SimConnection* initiator() const noexcept { return initiator_; }  // null once that end is closed or dead
  SimTransport* owner() const noexcept { return owner_; }           // same
  ProcessNumber initiator_process() const noexcept { return initiator_process_; }
  ProcessNumber owner_process() const noexcept { return owner_process_; }
  const std::shared_ptr<SimInbound>& inbound() const noexcept { return inbound_; }

  bool request(wire::Bytes&& message) noexcept;  // initiator to owner; false: that end is closed
  bool answer(wire::Bytes&& message) noexcept;

  // The initiator's end is gone; the owner learns it after `news`, behind the messages that still arrive. `killed`:
  // those may be fewer than were sent. The owner's end, likewise.
  void lose_initiator(const Failure& why, Duration news, bool killed) noexcept;
  void lose_owner(const Failure& why, Duration news, bool killed) noexcept;
  // The owner has learnt of the end: what arrives from now on meets nobody.
  void discard() noexcept;

 private:
  struct News : Step {
    News(Function function, SimChannel* owner) noexcept : Step(function), channel(owner) {}
    SimChannel* channel;
    Failure why{};
  };

  void deliver_request(wire::Bytes&& message) noexcept;
  void deliver_answer(wire::Bytes&& message) noexcept;
  static void tell_owner(Step& step) noexcept;
  static void tell_initiator(Step& step) noexcept;
  void announce(News& news, ProcessNumber to, const Failure& why, TimePoint not_before, Duration delay) noexcept;

  SimFabric& fabric_;
  const std::uint64_t number_;
  SimConnection* initiator_;
  SimTransport* owner_;
  const ProcessNumber initiator_process_;
  const ProcessNumber owner_process_;
  std::shared_ptr<SimInbound> inbound_;
  MessageLane requests_;
  MessageLane answers_;
  News owner_news_;
  News initiator_news_;
};

}  // namespace ferry::sim
