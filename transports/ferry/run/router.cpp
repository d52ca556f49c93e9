#include <ferry/run/router.hpp>

#include <algorithm>

#include <fmt/format.h>

#include <ferry/transport/address.hpp>

namespace ferry {

Result<std::vector<TransportId>> parse_transports(std::string_view text) {
  std::vector<TransportId> order{TransportId::local};
  if (text == "auto") {
    order.insert(order.end(), {TransportId::shm, TransportId::tcp});
    return order;
  }
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::string_view name = text.substr(begin, comma - begin);
    const TransportId transport = transport_from_string(name);
    if (transport != TransportId::shm && transport != TransportId::tcp) {
      return Failure(
          errc::invalid_argument,
          fmt::format("\"{}\" is no transport of this build; choose auto, shm, tcp, or a list such as shm,tcp", name));
    }
    if (std::find(order.begin(), order.end(), transport) == order.end()) {
      order.push_back(transport);
    }
    begin = comma + 1;
  }
  return order;
}

}  // namespace ferry
