// ControlNetwork: where control links come from: dials processes, and takes those that dial this one.
//
// Bodies: tcp lends its sockets and its handshake. Owner: the transport whose queue pairs are set up over it. Any
// thread.
#pragma once

#include <memory>
#include <vector>

#include <ferry/base/result.hpp>
#include <ferry/queue/control.hpp>
#include <ferry/queue/queue_server.hpp>
#include <ferry/transport/address.hpp>

namespace ferry {
class Peer;
}

namespace ferry::queue {

class ControlNetwork {
 public:
  virtual ~ControlNetwork() = default;

  // Gives every process that dials this one, once it is authenticated, to the server, which outlives the network.
  // address_in_use, invalid_argument, …: nothing was started.
  virtual Result<void> listen(QueueServer& server) = 0;
  // Where it can be dialed; valid after listen().
  virtual std::vector<Address> addresses() const = 0;

  // peer: outlives it.
  virtual std::unique_ptr<ControlDialer> dialer(const Peer& peer) = 0;

  // Takes nobody any more; links that were given away live on. Idempotent.
  virtual void shut_down() noexcept = 0;
};

}  // namespace ferry::queue
