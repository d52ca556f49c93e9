// SimStream: the control connection between two simulated processes: messages both ways in order, and the news of its
// end. SimDialer: makes one toward a peer. Internal to the fabric.
//
// A message arrives in a step of its own, never before one sent earlier, and nothing is lost while the stream lives: a
// partition holds messages back, and ends the stream for whoever has heard nothing for the failure-detection time.
// Owner: the fabric, until both ends are closed and nothing of it is under way. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ferry/base/failure.hpp>
#include <ferry/base/time.hpp>
#include <ferry/queue/control.hpp>
#include <ferry/sim/sim_fabric.hpp>
#include <ferry/sim/step.hpp>

namespace ferry {
class Peer;
}

namespace ferry::sim {

class SimTransport;

class SimStream : public std::enable_shared_from_this<SimStream> {
 public:
  enum Side : std::uint8_t { dialer, acceptor };

  SimStream(SimFabric& fabric, SimTransport& from, const Peer& peer, queue::ControlEvents& events);
  ~SimStream();
  SimStream(const SimStream&) = delete;
  SimStream& operator=(const SimStream&) = delete;

  // The request sets out; on_control_open or on_control_closed follows.
  void dial() noexcept;

  bool send(Side from, wire::Bytes&& message) noexcept;
  // This end's; the other learns it behind what was sent.
  void close(Side side) noexcept;
  ProcessId peer_of(Side side) const noexcept;

  // The process was killed: its ends are dead, of what it had sent any part may still arrive, and the others learn it
  // after their failure-detection time.
  void killed(ProcessNumber process) noexcept;

  // Nothing that one process sends reaches the other one, or it sends nothing: whoever hears nothing for long enough
  // ends the stream. What began has ended: it hears again.
  void fall_silent(ProcessNumber from, ProcessNumber to) noexcept;
  void speak_again(ProcessNumber from, ProcessNumber to) noexcept;

  // The fabric ends; whoever still holds an end may keep it.
  void abandon() noexcept;

  // Both ends are closed and nothing is under way.
  bool is_over() const noexcept;

 private:
  struct Message {
    TimePoint due;
    wire::Bytes bytes;
    Cause cause{};                           // for traces: the step that sent it
    std::vector<std::uint64_t> relies_on{};  // for findings: see MemoryWatch::relied_on
  };
  struct Own : Step {
    Own(Function function, SimStream* owner, Side side_given) noexcept
        : Step(function), stream(owner), side(side_given) {}
    SimStream* stream;
    Side side;
  };
  // One end, and what is on its way to it.
  struct End {
    End(SimStream* owner, Side side) noexcept
        : arrival(&SimStream::arrive, owner, side),
          news(&SimStream::tell, owner, side),
          silence(&SimStream::give_up, owner, side) {}
    SimTransport* transport = nullptr;       // null once its process was killed
    queue::ControlEvents* events = nullptr;  // null once closed or dead
    ProcessNumber process{};
    ProcessId id{};
    TimePoint last_due{};
    std::vector<Message> queue;  // from head on
    std::size_t head = 0;
    Duration held{};  // how long the head has been held back last
    Own arrival;
    Own news;
    Own silence;
    Failure why{};
    PeerState state = PeerState::unknown;

    std::size_t size() const noexcept { return queue.size() - head; }
  };

  static void handshake_step(Step& step) noexcept;
  static void arrive(Step& step) noexcept;
  static void tell(Step& step) noexcept;
  static void give_up(Step& step) noexcept;

  void reach_peer();
  void refuse(const Failure& why, PeerState state);
  void schedule_head(Side to) noexcept;
  void keep(Side to, std::size_t count) noexcept;
  bool is_held_back(Side to) const noexcept;
  void announce(Side to, const Failure& why, PeerState state, Duration delay) noexcept;
  void end(Side side) noexcept;
  Duration patience_of(Side side) const noexcept;
  static Side other(Side side) noexcept { return side == dialer ? acceptor : dialer; }

  SimFabric& fabric_;
  const Peer& peer_;  // as the dialer knows it; not touched once the dialer has closed
  const std::uint64_t number_;
  std::array<End, 2> ends_;
  bool is_answered_ = false;  // the request has been at the peer
  bool is_open_ = false;
  bool is_abandoned_ = false;  // the fabric is gone
  Failure refusal_{};
  Duration answer_after_{};  // on top of what it takes
  PeerState refusal_state_ = PeerState::unknown;
  Own handshake_;
};

class SimDialer final : public queue::ControlDialer {
 public:
  SimDialer(SimTransport& transport, const Peer& peer) noexcept : transport_(transport), peer_(peer) {}
  std::unique_ptr<queue::ControlLink> dial(queue::ControlEvents& events) noexcept override;
  std::string describe() const override;

 private:
  SimTransport& transport_;
  const Peer& peer_;
};

}  // namespace ferry::sim
