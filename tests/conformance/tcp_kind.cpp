// The suite over TCP on the loopback interface.
#include <charconv>

#include <ferry/tcp/transport.hpp>

#include "real_cluster.hpp"

namespace ferry::conformance {
namespace {

// Where the node's former life listened.
std::uint16_t former_port(const NodePlace& place) {
  std::uint16_t port = 0;
  for (const Address& address : place.former) {
    if (address.transport == TransportId::tcp) {
      const std::string& text = address.text;
      std::from_chars(text.data() + text.rfind(':') + 1, text.data() + text.size(), port);
    }
  }
  return port;
}

}  // namespace

std::vector<const ClusterKind*> cluster_kinds() {
  static const RealKind tcp("tcp", {.completes_inline = false, .can_restart = true, .can_freeze = true},
                            [](const NodePlace& place) {
                              place.core.add_transport(std::make_unique<tcp::TcpTransport>(
                                  place.core, place.executor, tcp::TcpOptions{"127.0.0.1", former_port(place)}));
                            });
  return {&tcp};
}

}  // namespace ferry::conformance
