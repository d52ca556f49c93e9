// FabricOptions: the knobs of the simulated NICs and of the network between them. Plain values, set before the world
// starts.
//
// Rates are "one in so many", drawn by a choice of its own for each; 0: never. Zero everywhere is a fabric without
// faults, in which requests still take effect in any order that the profile allows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ferry/base/failure.hpp>
#include <ferry/base/time.hpp>
#include <ferry/queue/queue_limits.hpp>
#include <ferry/sim/nic/nic_profile.hpp>

namespace ferry::sim {

inline constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

struct FabricOptions {
  const NicProfile* profile = &kPortableNic;  // nic_profile("srd"), …
  bool exact_atomics = false;  // of NICs: atomic against the owner's CPU too ("glob"); else among themselves ("hca")

  bool has_message_queues = true;  // messages travel on queue pairs; else with fewer steps, for exhaustive searches

  std::uint64_t few_messages = queue::kFewMessages;  // that pass on a connection before it has one for them

  bool tells_progress = true;  // an owner's NIC tells how far it had accepted the requests of a queue pair that failed

  bool has_flushes = false;  // of NICs: as few devices have; otherwise marks tell what is in memory

  // Limits.
  std::size_t mtu = 4096;              // bytes of a packet, at most: a multiple of the granule
  std::size_t granule = 8;             // bytes that never tear when aligned: 1, 8 or 64
  std::size_t requests = 1024;         // of a queue pair, posted and not completed
  std::size_t receives = 1024;         // same; at least 4
  std::size_t reads = 16;              // gets and atomics of a queue pair under way; more stall what is behind them
  std::size_t window = 64;             // packets of a queue pair sent and not acknowledged
  std::size_t completions = 1U << 20;  // of a process, not polled; one more is lost and takes its queue pair with it
  std::size_t queue_pairs = 1U << 16;  // of a process
  std::uint64_t message = std::uint64_t{1} << 30;  // bytes of one request; at least queue::kCommandBytes
  // Bytes that a process may have registered, what the library needs for itself included; more is refused.
  std::uint64_t locked_memory = kNoLimit;

  // Reliability.
  Duration acknowledgement = std::chrono::microseconds(500);  // without progress until packets are sent again
  unsigned retries = 7;                                       // in a row, until a queue pair gives up
  Duration receiver_pause = std::chrono::microseconds(50);    // until a send without a receive is tried again
  unsigned receiver_retries = 7;                              // in a row, where they are not endless

  // How long what has arrived may stay on its way to memory, unless something waits for it.
  Duration hold = std::chrono::milliseconds(2);

  // The network.
  Duration latency = std::chrono::microseconds(1);  // of an empty packet, one way
  std::uint64_t bytes_per_microsecond = 10'000;     // of each NIC, each way; at least 1
  std::uint64_t drop_one_in = 0;                    // packets
  std::uint64_t duplicate_one_in = 0;               // same
  std::uint64_t delay_one_in = 0;  // same; by up to 64 latencies, and what follows on that queue pair waits behind it
  std::uint64_t stall_one_in = 0;  // a NIC does nothing for up to 256 latencies before it sends one

  // Memory whose contents do not matter, for worlds with more of it than there is: address space that nobody touches,
  // and that all processes may share. To and from it, NICs move no bytes but take the time, do not tear packets and do
  // not dawdle; elsewhere its bytes arrive as zeros. Not for atomics. Outlives the world.
  std::span<std::byte> ghost{};

  // Processes.
  Duration start_time = std::chrono::milliseconds(1);  // from ProcessHost::start to the child's first step
};

// invalid_argument, naming the option that is out of its range; none if all are in it.
Failure check(const FabricOptions& options);

}  // namespace ferry::sim
