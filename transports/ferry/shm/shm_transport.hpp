// ShmTransport: reaches processes of the same host and user: one-sided operations in place on mapped memory, messages
// through rings, and for memory that ferry did not allocate the kernel's copies or the owner's polling thread.
//
// Owner: the node's composer. It gets its turns from the Reactor and has no threads. shared_memory() is what
// `ferry::allocate` draws on, and may outlive the transport; the NodeCore, its executor and the reactor outlive both.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ferry/base/result.hpp>
#include <ferry/memory/process_id.hpp>
#include <ferry/memory/shared_memory.hpp>
#include <ferry/transport/node_core.hpp>
#include <ferry/transport/reactor.hpp>
#include <ferry/transport/transport.hpp>

namespace ferry::shm {

// Events since the transport was made; for reports and tests.
struct ShmStats {
  std::uint64_t accesses = 0;          // pieces of peers' memory touched in place
  std::uint64_t foreign_reads = 0;     // system calls that read peers' other memory
  std::uint64_t commands = 0;          // asked of peers' polling threads
  std::uint64_t commands_served = 0;   // executed for peers
  std::uint64_t doorbells = 0;         // system calls that woke a peer
  std::uint64_t mapped_segments = 0;   // of peers, ever
  std::uint64_t inbounds = 0;          // peers that are connected to this process now
  std::uint64_t busy_revocations = 0;  // that found a peer inside the memory and waited for it
};

struct ShmOptions {
  // False: shared memory gets its pages when they are touched, and no limit is looked at. For tests of sizes beyond
  // the machine's.
  bool reserve = true;
};

class ShmTransport final : public Transport {
 public:
  // resource_exhausted, unsupported (a kernel older than Linux 5.3, or /proc not mounted).
  static Result<std::unique_ptr<ShmTransport>> create(NodeCore& node, Reactor& reactor, const ShmOptions& options = {});
  ~ShmTransport() override;

  TransportId id() const noexcept override { return TransportId::shm; }
  Capabilities capabilities() const override;
  Result<void> listen() override;
  // None: who knows the ProcessId finds the process.
  std::vector<Address> addresses() const override { return {}; }
  MemoryDomain* memory() noexcept override;
  std::unique_ptr<Connection> connect(const Peer& peer, ConnectionEvents& events, std::string& why) override;
  void shut_down() noexcept override;

  std::shared_ptr<SharedMemory> shared_memory() const noexcept;

  // This life of the process gets at nothing of this process from now on, also when it wakes up from a stop: its
  // channels end and it is not admitted again. (A copy that it is stopped inside of goes on for one piece.)
  void fence(ProcessId peer) noexcept;

  ShmStats stats() const noexcept;

 private:
  class Machine;

  explicit ShmTransport(std::unique_ptr<Machine> machine) noexcept;

  std::unique_ptr<Machine> machine_;
};

}  // namespace ferry::shm
