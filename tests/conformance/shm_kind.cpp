// The suite over shared memory: with memory that peers map, and with memory that ferry did not allocate.
#include <ferry/shm/shm_transport.hpp>

#include "real_cluster.hpp"

namespace ferry::conformance {
namespace {

void add_shm(const NodePlace& place) {
  auto transport = shm::ShmTransport::create(place.core, place.executor).value();
  place.core.set_shared_memory(transport->shared_memory());
  place.core.add_transport(std::move(transport));
}

std::uint64_t busy_revocations(NodeCore& node) {
  std::uint64_t count = 0;
  for (const auto& transport : node.transports()) {
    if (transport->id() == TransportId::shm) {
      count = static_cast<const shm::ShmTransport&>(*transport).stats().busy_revocations;
    }
  }
  return count;
}

}  // namespace

std::vector<const ClusterKind*> cluster_kinds() {
  static const RealKind mapped("shm", {.needs_owner = false, .can_restart = true, .can_freeze = true}, &add_shm, false,
                               &busy_revocations);
  static const RealKind heap("shm_heap",
                             {.needs_owner = false, .tears_words = true, .can_restart = true, .can_freeze = true},
                             &add_shm, true, &busy_revocations);
  return {&mapped, &heap};
}

}  // namespace ferry::conformance
