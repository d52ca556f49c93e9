#include <ferry/queue/staging.hpp>

namespace ferry::queue {

Staging::Staging(Device& device, std::size_t slots, std::size_t bytes)
    : device_(device),
      bytes_(bytes),
      slots_(slots),
      memory_(std::make_unique_for_overwrite<std::byte[]>(slots * bytes)) {
  free_.reserve(slots);
  for (std::size_t slot = slots; slot > 0; --slot) {
    free_.push_back(static_cast<std::uint16_t>(slot - 1));
  }
}

Staging::~Staging() {
  if (is_registered_) {
    device_.deregister_local(key_);
  }
}

Result<std::unique_ptr<Staging>> Staging::create(Device& device, std::size_t slots, std::size_t bytes) {
  std::unique_ptr<Staging> staging(new Staging(device, slots, bytes));
  if (device.limits().needs_local_keys) {
    auto key = device.register_local(staging->memory_.get(), slots * bytes);
    if (!key) {
      return key.error();
    }
    staging->key_ = *key;
    staging->is_registered_ = true;
  }
  return staging;
}

Result<void> post_receives(QueuePair& queue, const Staging& receives) {
  for (std::size_t index = 0; index < receives.slots(); ++index) {
    const auto slot = static_cast<std::uint16_t>(index);
    if (auto posted = queue.post_receive(slot, receives.at(slot), receives.bytes(), receives.key()); !posted) {
      return posted;
    }
  }
  return {};
}

std::uint16_t Staging::take() noexcept {
  if (free_.empty()) {
    return kNone;
  }
  const std::uint16_t slot = free_.back();
  free_.pop_back();
  return slot;
}

}  // namespace ferry::queue
