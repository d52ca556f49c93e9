// WatchedConnection: a Connection that tells a MemoryWatch when each operation begins and ends, and is otherwise the
// one inside it. Internal to the fabric.
//
// What it inserts: each pending operation's on_complete and connection, until it ends or is given back. Owner: the
// Peer. One thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ferry/sim/ids.hpp>
#include <ferry/transport/connection.hpp>

namespace ferry {
class Peer;
}

namespace ferry::sim {

class MemoryWatch;

class WatchedConnection final : public Connection, private ConnectionEvents {
 public:
  using Make = std::function<std::unique_ptr<Connection>(ConnectionEvents&)>;

  // process: the initiator.
  WatchedConnection(MemoryWatch& watch, ProcessNumber process, const Peer& peer, ConnectionEvents& events,
                    const Make& make);
  ~WatchedConnection() override;

  void open() noexcept override { inner_->open(); }
  Started start(Operation& operation) noexcept override;
  void cancel(Operation& operation, const Failure& why) noexcept override;
  bool abandon(Operation& operation) noexcept override;
  bool send(wire::Bytes&& message) noexcept override { return inner_->send(std::move(message)); }
  void close(const Failure& why) noexcept override { inner_->close(why); }
  bool pipelines_sequences() const noexcept override { return inner_->pipelines_sequences(); }
  TransportId transport() const noexcept override { return inner_->transport(); }
  void describe_operations(std::vector<std::string>& phrases) const override { inner_->describe_operations(phrases); }
  std::string describe() const override { return inner_->describe(); }

 private:
  void on_open(Connection& connection) noexcept override;
  void on_closed(Connection& connection, const Failure& why, PeerState state) noexcept override;
  void redrive(Operation& operation, const Failure& why) noexcept override;
  void on_unsent(Connection& connection, wire::ByteView message, const Failure& why) noexcept override;
  void on_message(Connection& connection, wire::Bytes&& message) noexcept override;

  static void completed(Operation& operation) noexcept;

  MemoryWatch& watch_;
  const ProcessNumber process_;
  const Peer& peer_;
  ConnectionEvents& events_;
  bool is_open_ = false;
  std::unique_ptr<Connection> inner_;
};

}  // namespace ferry::sim
