// Connection: everything that this process initiates toward one peer over one transport: one-sided operations,
// messages, and the answers that come back. The channel underneath (a socket, a mapping, a queue pair) comes and goes.
//
// A connection carries requests one way: the peer's own requests travel on a connection of its own.
// Owner: the Peer, for the Node's life. Any thread may call anything; no call blocks except abandon() and close().
// The Peer may hold its lock while it calls start(), send() or describe(): they ask nothing of the Peer.
// Implementations are named by their transport (TcpConnection) and call back through ConnectionEvents.
#pragma once

#include <string>
#include <vector>

#include <ferry/base/failure.hpp>
#include <ferry/transport/operation.hpp>
#include <ferry/wire/bytes.hpp>

namespace ferry {

enum class Started : unsigned char {
  complete,  // done; Operation::failure and result are set, on_complete is not called
  pending,   // on_complete will be called
  not_open,  // nothing happened: there is no channel
};

class Connection {
 public:
  virtual ~Connection() = default;

  // Begins to make a channel; on_open or on_closed follows, perhaps before open() returns. Each on_open is followed by
  // exactly one on_closed, when that channel ends. Not called while a channel is open or being opened, nor after
  // close().
  virtual void open() noexcept = 0;

  // Never calls ConnectionEvents before it returns. Sets Operation::connection if it is pending.
  virtual Started start(Operation& operation) noexcept = 0;

  // The shortest way, for transports that can reach the memory in place: copies the whole referenced range to (read) or
  // from (write) `local`, whose size it has, if that succeeds at once. False: nothing was done; start() will do or
  // refuse it. kind: read or write. The same for an atomic.
  virtual bool try_transfer(OperationKind kind, const RemoteRegion& region, std::byte* local) noexcept {
    static_cast<void>(kind), static_cast<void>(region), static_cast<void>(local);
    return false;
  }
  virtual bool try_atomic(const OperationRequest& request, std::uint64_t& old) noexcept {
    static_cast<void>(request), static_cast<void>(old);
    return false;
  }

  // Asks that a pending operation end with `why`, and soon: when the transport has silenced it, after at most
  // limits::kQuietGrace plus the teardown of the channel. It may still complete otherwise. Does nothing for an
  // operation that is not in flight here. While a channel breaks, it waits until what is redriven has arrived at the
  // Peer, which then finds it there.
  virtual void cancel(Operation& operation, const Failure& why) noexcept = 0;

  // As cancel, but returns only once the operation is quiet. True: it was withdrawn, and on_complete will not be
  // called. False: it had completed already (or is doing so on another thread at this moment): on_complete was or will
  // be called within moments.
  virtual bool abandon(Operation& operation) noexcept = 0;

  // Queues a message; order of sends is kept. False: there is no channel and nothing happened.
  // Never waits (the actor runtime bounds what is under way) and never calls ConnectionEvents before it returns.
  virtual bool send(wire::Bytes&& message) noexcept = 0;

  // Ends the channel for good: pending operations end with `why`; no callback comes after it returns.
  virtual void close(const Failure& why) noexcept = 0;

  // True if members of a Sequence may be started without waiting for each other: the transport keeps their order and
  // skips what follows a failed one.
  virtual bool pipelines_sequences() const noexcept = 0;

  virtual TransportId transport() const noexcept = 0;

  // Adds a phrase for each operation that is under way, in the order of their start: "write_from of 256 bytes". For
  // reports of what waits for what; transports that need none add nothing.
  virtual void describe_operations(std::vector<std::string>& phrases) const { static_cast<void>(phrases); }

  // One line for `explain`: how this peer is reached.
  virtual std::string describe() const = 0;
};

// True for what only a process that was reached can have said when no channel could be made: it tells more than the
// silence of other addresses and transports.
constexpr bool is_an_answer(errc code) noexcept {
  return code == errc::not_authorised || code == errc::version_mismatch || code == errc::stale_incarnation;
}

// What a closed channel says about the peer.
enum class PeerState : unsigned char {
  unknown,           // the channel broke; the process may live
  gone,              // this life of the process has ended
  other_incarnation  // another life answers at the address
};

// Implemented by Peer. Called from any thread, without the connection's locks held.
class ConnectionEvents {
 public:
  virtual void on_open(Connection& connection) noexcept = 0;
  virtual void on_closed(Connection& connection, const Failure& why, PeerState state) noexcept = 0;
  // Gives back an operation of a broken channel that may be started again: provably unexecuted, or a read. Comes
  // before the on_closed of that channel; why: what it will say. A member of a sequence is not started again, but ends
  // not_executed with it.
  virtual void redrive(Operation& operation, const Failure& why) noexcept = 0;
  // Gives back a message that send() took and of which no byte has left this process: the whole of it, or at least
  // what a frame holds of it. Before the on_closed of that channel, or within close(). It is not sent again.
  virtual void on_unsent(Connection& connection, wire::ByteView message, const Failure& why) noexcept = 0;
  // A message that answers ours.
  virtual void on_message(Connection& connection, wire::Bytes&& message) noexcept = 0;

 protected:
  ~ConnectionEvents() = default;
};

}  // namespace ferry
