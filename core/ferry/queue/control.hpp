// ControlLink: the authenticated connection beneath a channel, by which both processes set up and discard queue pairs.
// Both directions keep their order; nothing is lost while it lives. ControlDialer: who makes one.
//
// Bodies: the simulator's stream; a socket under verbs. Any thread.
#pragma once

#include <cstdint>
#include <memory>

#include <ferry/base/failure.hpp>
#include <ferry/memory/process_id.hpp>
#include <ferry/queue/queue_limits.hpp>
#include <ferry/transport/connection.hpp>
#include <ferry/wire/bytes.hpp>

namespace ferry::queue {

// Called one at a time per link, never from inside a call to it.
class ControlEvents {
 public:
  virtual void on_control_open() noexcept = 0;  // of a dialer only
  virtual void on_control(wire::Bytes&& message) noexcept = 0;
  // Nothing comes afterwards. state: what is known about the process at the other end.
  virtual void on_control_closed(const Failure& why, PeerState state) noexcept = 0;

 protected:
  ~ControlEvents() = default;
};

class ControlLink {
 public:
  virtual ~ControlLink() = default;  // as close()

  virtual ProcessId peer() const noexcept = 0;  // authenticated
  // Queues it; false: the link has ended. Never waits.
  virtual bool send(wire::Bytes&& message) noexcept = 0;
  // No event follows.
  virtual void close(const Failure& why) noexcept = 0;
};

// What carries messages, and what both processes say of their queue pairs: the link itself, or a queue pair above it
// (MessageLink). Both processes choose the same.
struct MessageWay {
  bool has_queue_pair = false;
  std::uint64_t few = kFewMessages;  // until so many have passed, both ways, there is none
};

class ControlDialer {
 public:
  virtual ~ControlDialer() = default;

  // on_control_open or on_control_closed follows. The link may be closed or destroyed before that.
  virtual std::unique_ptr<ControlLink> dial(ControlEvents& events) noexcept = 0;
  virtual std::string describe() const = 0;  // how the peer is reached, in a line
};

}  // namespace ferry::queue
