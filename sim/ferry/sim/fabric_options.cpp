#include <ferry/sim/fabric_options.hpp>

#include <fmt/format.h>

namespace ferry::sim {

Failure check(const FabricOptions& options) {
  const auto refuse = [](std::string text) { return Failure(errc::invalid_argument, std::move(text)); };
  if (options.profile == nullptr) {
    return refuse("FabricOptions::profile is null");
  }
  if (options.granule != 1 && options.granule != 8 && options.granule != 64) {
    return refuse(fmt::format("FabricOptions::granule is {}; it is 1, 8 or 64", options.granule));
  }
  if (options.mtu == 0 || options.mtu % options.granule != 0 || options.mtu > (std::size_t{1} << 20)) {
    return refuse(fmt::format("FabricOptions::mtu is {}; it is a multiple of the granule, {}, and at most {}",
                              options.mtu, options.granule, std::size_t{1} << 20));
  }
  if (options.requests == 0 || options.receives == 0 || options.reads == 0 || options.window == 0 ||
      options.completions == 0 || options.message == 0 || options.bytes_per_microsecond == 0) {
    return refuse(
        "FabricOptions::requests, receives, reads, window, completions, message and bytes_per_microsecond are "
        "at least 1");
  }
  if (options.receives < queue::kLeastMessageReceives || options.message < queue::kCommandBytes) {
    return refuse(
        fmt::format("FabricOptions::receives is {} and message {}; the library needs {} receives of a queue "
                    "pair, and requests of {} bytes",
                    options.receives, options.message, queue::kLeastMessageReceives, queue::kCommandBytes));
  }
  if (options.latency < Duration::zero() || options.hold < Duration::zero() || options.start_time < Duration::zero()) {
    return refuse("FabricOptions::latency, hold and start_time are not negative");
  }
  if (options.acknowledgement <= options.latency * 2 || options.receiver_pause <= Duration::zero()) {
    return refuse("FabricOptions::acknowledgement is longer than two latencies, and receiver_pause than nothing");
  }
  return {};
}

}  // namespace ferry::sim
