// The suite over a node's own memory and actors: every index of the cluster is the same node.
#include "real_cluster.hpp"

namespace ferry::conformance {

std::vector<const ClusterKind*> cluster_kinds() {
  static const RealKind local("local", {.separate = false, .needs_owner = false}, [](const NodePlace&) {});
  return {&local};
}

}  // namespace ferry::conformance
