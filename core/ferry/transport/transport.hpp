// Transport: a way to reach other processes; makes Connections, takes Inbounds, keeps a MemoryDomain.
//
// Owner: the Node's composer, which makes it (with its options), starts it by listen() and ends it by shut_down()
// before the executor ends. A transport knows its node only through NodeCore.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ferry/base/result.hpp>
#include <ferry/transport/address.hpp>
#include <ferry/transport/connection.hpp>
#include <ferry/transport/memory_domain.hpp>

namespace ferry {

class Peer;

// What a transport does natively; for `ferry-doctor`, explanations and choices. Texts are for people.
struct Capabilities {
  bool atomics_cpu = false;  // fetch_add … in the cpu domain
  bool atomics_nic = false;
  bool completes_inline = false;  // operations can end without suspending
  std::string delivered_by;       // how `delivered` is known
  std::string notes;
};

class Transport {
 public:
  virtual ~Transport() = default;

  virtual TransportId id() const noexcept = 0;
  virtual Capabilities capabilities() const = 0;

  // Begins to take inbound channels. address_in_use, …: nothing was started.
  virtual Result<void> listen() = 0;
  // Where peers find this node; valid after listen().
  virtual std::vector<Address> addresses() const = 0;

  // Null if the transport needs to know nothing about memory.
  virtual MemoryDomain* memory() noexcept = 0;

  // A connection to the process, not opened; open() asks the peer for its addresses (shm needs none). Null if the
  // transport can never reach that process, with the reason in `why`. The peer outlives the connection.
  virtual std::unique_ptr<Connection> connect(const Peer& peer, ConnectionEvents& events, std::string& why) = 0;

  // Stops listening, closes every channel and waits until nothing of it runs. Idempotent.
  virtual void shut_down() noexcept = 0;
};

}  // namespace ferry
