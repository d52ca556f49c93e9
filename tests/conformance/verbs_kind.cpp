// The suite over an RDMA device: soft-RoCE in ci/rxe-guest, or the host's own.
#include <charconv>

#include <ferry/tcp/control_network.hpp>
#include <ferry/verbs/verbs_transport.hpp>

#include "real_cluster.hpp"

namespace ferry::conformance {
namespace {

// Where the node's former life listened.
std::uint16_t former_port(const NodePlace& place) {
  std::uint16_t port = 0;
  for (const Address& address : place.former) {
    if (address.transport == TransportId::verbs) {
      const std::string& text = address.text;
      std::from_chars(text.data() + text.rfind(':') + 1, text.data() + text.size(), port);
    }
  }
  return port;
}

void add_verbs(const NodePlace& place) {
  auto links = std::make_unique<tcp::TcpControlNetwork>(place.core, place.executor, TransportId::verbs,
                                                        tcp::TcpOptions{"127.0.0.1", former_port(place)});
  place.core.add_transport(verbs::VerbsTransport::create(place.core, place.executor, std::move(links)).value());
}

}  // namespace

std::vector<const ClusterKind*> cluster_kinds() {
  static const RealKind verbs("verbs",
                              {.completes_inline = false,
                               .needs_owner = false,
                               .tears_words = true,  // soft-RoCE: the kernel copies
                               .can_restart = true,
                               .can_freeze = true,
                               .owner_checks_generations = false,
                               .has_nic_atomics = true},
                              &add_verbs);
  return {&verbs};
}

}  // namespace ferry::conformance
