#include <ferry/transport/address.hpp>

#include <array>

#include <fmt/format.h>

namespace ferry {
namespace {

constexpr std::array<std::string_view, 6> kNames{"none", "local", "shm", "verbs", "tcp", "sim"};

}  // namespace

std::string_view to_string(TransportId transport) noexcept {
  const auto index = static_cast<std::size_t>(transport);
  return index < kNames.size() ? kNames[index] : kNames[0];
}

TransportId transport_from_string(std::string_view name) noexcept {
  for (std::size_t index = 1; index < kNames.size(); ++index) {
    if (kNames[index] == name) {
      return static_cast<TransportId>(index);
    }
  }
  return TransportId::none;
}

std::string to_string(const Address& address) {
  return fmt::format("{}:{}", to_string(address.transport), address.text);
}

Result<Address> address_from_string(std::string_view text) {
  const std::size_t colon = text.find(':');
  const TransportId transport = transport_from_string(text.substr(0, colon));
  if (colon == std::string_view::npos || transport == TransportId::none) {
    return Failure(errc::malformed,
                   fmt::format("\"{}\" is no address: expected TRANSPORT:PLACE, as in tcp:127.0.0.1:4567", text));
  }
  if (text.size() > Address::kMaxText) {
    return Failure(errc::malformed,
                   fmt::format("an address has at most {} bytes, not {}", Address::kMaxText, text.size()));
  }
  return Address{transport, std::string(text.substr(colon + 1))};
}

}  // namespace ferry
