// The suite where nodes reach each other in different ways: nodes 0 and 1 by shared memory, node 2 and beyond by TCP.
#include <ferry/shm/shm_transport.hpp>
#include <ferry/tcp/transport.hpp>

#include "real_cluster.hpp"

namespace ferry::conformance {

std::vector<const ClusterKind*> cluster_kinds() {
  static const RealKind mixed("mixed", {.needs_owner = false}, [](const NodePlace& place) {
    if (place.node < 2) {
      auto transport = shm::ShmTransport::create(place.core, place.executor).value();
      place.core.set_shared_memory(transport->shared_memory());
      place.core.add_transport(std::move(transport));
    }
    place.core.add_transport(
        std::make_unique<tcp::TcpTransport>(place.core, place.executor, tcp::TcpOptions{"127.0.0.1", 0}));
  });
  return {&mixed};
}

}  // namespace ferry::conformance
