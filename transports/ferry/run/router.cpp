#include <ferry/run/router.hpp>

#include <algorithm>

#include <fmt/format.h>

#include <ferry/transport/address.hpp>

#ifdef FERRY_HAS_VERBS
#include <ferry/verbs/verbs_transport.hpp>
#endif

namespace ferry {
namespace {

#ifdef FERRY_HAS_VERBS
constexpr bool kHasVerbs = true;
bool has_rdma_devices() {
  return verbs::has_devices();
}
#else
constexpr bool kHasVerbs = false;
bool has_rdma_devices() {
  return false;
}
#endif

}  // namespace

bool has_verbs() noexcept {
  return kHasVerbs;
}

Result<std::vector<TransportId>> parse_transports(std::string_view text) {
  std::vector<TransportId> order{TransportId::local};
  if (text == "auto") {
    order.push_back(TransportId::shm);
    if (has_rdma_devices()) {
      order.push_back(TransportId::verbs);
    }
    order.push_back(TransportId::tcp);
    return order;
  }
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::string_view name = text.substr(begin, comma - begin);
    const TransportId transport = transport_from_string(name);
    if (transport == TransportId::verbs && !kHasVerbs) {
      return Failure(errc::invalid_argument,
                     "this build has no verbs: install libibverbs-dev and build again, or choose auto, shm or tcp");
    }
    if (transport != TransportId::shm && transport != TransportId::tcp && transport != TransportId::verbs) {
      return Failure(errc::invalid_argument,
                     fmt::format("\"{}\" is no transport of this build; choose auto, shm, {}tcp, or a list such as "
                                 "shm,tcp",
                                 name, kHasVerbs ? "verbs, " : ""));
    }
    if (std::find(order.begin(), order.end(), transport) == order.end()) {
      order.push_back(transport);
    }
    begin = comma + 1;
  }
  return order;
}

}  // namespace ferry
