#include "cluster.hpp"

#include <cstdio>

#include <fmt/format.h>

namespace ferry::conformance {

Random& Cluster::random() {
  if (!std::exchange(seed_told_, true)) {
    fmt::print("  seed {} (replay: FERRY_SEED={})\n", seed_, seed_);
    std::fflush(stdout);
  }
  return random_;
}

BufferRef carry(const BufferRef& reference, NodeCore& to) {
  const wire::Bytes bytes = encode_reference(reference);
  return decode_reference(to, {bytes.data(), bytes.size()}).value();
}

}  // namespace ferry::conformance
