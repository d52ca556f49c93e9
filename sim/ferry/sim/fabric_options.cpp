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
  if (options.piece_bytes == 0 || options.piece_bytes % options.granule != 0 ||
      options.piece_bytes > limits::kPieceBytes) {
    return refuse(fmt::format("FabricOptions::piece_bytes is {}; it is a multiple of the granule, {}, and at most {}",
                              options.piece_bytes, options.granule, limits::kPieceBytes));
  }
  if (options.window_pieces == 0 || options.bytes_per_microsecond == 0) {
    return refuse("FabricOptions::window_pieces and bytes_per_microsecond are at least 1");
  }
  if (options.latency < Duration::zero() || options.hold < Duration::zero() || options.start_time < Duration::zero()) {
    return refuse("FabricOptions::latency, hold and start_time are not negative");
  }
  return {};
}

}  // namespace ferry::sim
