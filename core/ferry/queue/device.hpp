// Device: what makes queue pairs and reaches memory: a NIC as the queue layer sees it.
//
// Bodies: the simulator's NIC; verbs. Owner: the transport. Any thread may call anything. The key by which peers reach
// a registered region is minted by the transport's MemoryDomain; remote_address() reads it out of a reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <ferry/base/result.hpp>
#include <ferry/memory/region.hpp>
#include <ferry/queue/queue_pair.hpp>

namespace ferry::queue {

// What a device promises about the requests of one queue pair; each class has mechanisms of its own (README.md).
enum class OrderClass : std::uint8_t {
  strict,     // placed in order: a later get or atomic sees every earlier put
  unordered,  // no order of placement but what the manual promises; a receive completion is behind earlier puts
  iwarp,      // as unordered; a put's completion says nothing, a refusal names no request, sends in place of immediates
  srd,        // datagrams: no order at all; a receive completion covers its own message; a refusal fails one request
};

struct DeviceLimits {
  OrderClass order = OrderClass::unordered;
  bool atomics = false;              // fetch_add and compare_swap by the device
  bool flush = false;                // Verb::flush
  std::uint64_t message = 1U << 30;  // bytes of one request, at most
  std::size_t requests = 1024;       // of QueuePairOptions, at most
  std::size_t receives = 1024;
  std::size_t reads = 16;        // gets and atomics of a queue pair that are under way; more wait in the device
  std::size_t inline_bytes = 0;  // of a put or send, copied at the post
  std::size_t granule = 8;       // bytes, aligned, that never tear
  bool needs_local_keys = true;  // false: requests may name any memory of the process, with local_key 0
};

class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceLimits& limits() const noexcept = 0;

  // resource_exhausted, invalid_argument. events: told about it, outlives it.
  virtual Result<std::unique_ptr<QueuePair>> create_queue_pair(const QueuePairOptions& options,
                                                               QueueEvents& events) = 0;

  // Lets requests name this memory as local. Costs time with real devices: once per large operation or pool, not per
  // small one. resource_exhausted with the remedy.
  virtual Result<std::uint32_t> register_local(std::byte* memory, std::size_t length) = 0;
  virtual void deregister_local(std::uint32_t local_key) noexcept = 0;

  // Where byte `offset` of the region (not of the referenced range) is. unsupported: the reference has no key of this
  // transport.
  virtual Result<RemoteAddress> remote_address(const RemoteRegion& region, std::uint64_t offset) const = 0;

  // Eight bytes of this process that any peer may read, always: for trailing reads (README.md, strict).
  virtual RemoteAddress readable_word() const = 0;
};

}  // namespace ferry::queue
