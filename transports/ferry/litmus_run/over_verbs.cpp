#include <ferry/litmus_run/over_verbs.hpp>

#include <ferry/transport/node_core.hpp>
#ifdef FERRY_HAS_VERBS
#include <ferry/verbs/verbs_transport.hpp>
#endif

namespace ferry::litmus_run {

queue::Device* OverVerbs::device([[maybe_unused]] NodeCore& node) noexcept {
#ifdef FERRY_HAS_VERBS
  for (const auto& transport : node.transports()) {
    if (transport->id() == TransportId::verbs) {
      return &static_cast<verbs::VerbsTransport&>(*transport).device();
    }
  }
#endif
  return nullptr;
}

}  // namespace ferry::litmus_run
