// OverVerbs: litmus queues as queue pairs of the RDMA device that a node's verbs transport has opened; see
// litmus_host.hpp. Needs a build with verbs (has_verbs() of run/router.hpp).
#pragma once

#include <string_view>

namespace ferry {
class NodeCore;
namespace queue {
class Device;
}
}  // namespace ferry

namespace ferry::litmus_run {

struct OverVerbs {
  // The node's own; null if it has no verbs transport.
  static queue::Device* device(NodeCore& node) noexcept;
  // No device promises it, and soft-RoCE's exclude each other alone.
  static constexpr bool kAtomicsWithCPU = false;
  static constexpr std::string_view kRemark = "a queue pair each, atomics of the device";
};

}  // namespace ferry::litmus_run
