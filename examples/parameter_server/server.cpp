#include "server.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <stdexcept>

#include <ferry/base/random.hpp>
#include <ferry/transport/node_core.hpp>

namespace parameter_server {

ParameterServer::ParameterServer(ferry::ActorContext& context, std::uint32_t workers, const std::string& data)
    : context_(context),
      data_(Dataset::load(data)),
      published_(1),
      slots_(std::size_t{workers} * kSlots),
      published_buffer_(context.register_memory(std::span(published_))),
      slots_buffer_(context.register_memory(std::span(slots_))) {
  if (workers == 0 || workers > Published::kMaxWorkers) {
    throw std::invalid_argument("the number of workers must be 1 to 256");
  }
  static_cast<void>(slots_buffer_.notifications());  // from now on workers may notify
}

References ParameterServer::references(std::uint32_t worker) {
  const ferry::BufferRef published = published_buffer_.ref(ferry::Access::read);
  const ferry::BufferRef slots = slots_buffer_.ref(ferry::Access::write);
  return {published.subrange(offsetof(Published, weights), sizeof(Published::weights)),
          published.subrange(offsetof(Published, applied) + worker * sizeof(std::uint64_t), sizeof(std::uint64_t)),
          slots.subrange(worker * kSlots * sizeof(Slot), kSlots * sizeof(Slot))};
}

ferry::Task<void> ParameterServer::apply(std::uint64_t count) {
  ferry::NotificationStream pushes = slots_buffer_.notifications();
  Published& published = published_.front();
  while (log_.size() < count) {
    const std::uint64_t worker = co_await pushes.next();  // the tag is the worker
    const std::uint64_t turn = published.applied[worker];
    const Slot& slot = slots_[worker * kSlots + turn % kSlots];
    log_.push_back({static_cast<std::uint32_t>(worker), slot});
    const Slot& step = log_.back().slot;
    for (std::size_t index = 0; index < kWeights; ++index) {
      published.weights[index] += step.step[index];
    }
    std::atomic_ref(published.applied[worker]).store(turn + 1, std::memory_order_release);
  }
}

Progress ParameterServer::progress() {
  return {evaluate(std::span<const float, kWeights>(published_.front().weights), data_.held_out()), log_.size()};
}

bool ParameterServer::weights_are_the_sum_of_the_log() {
  std::vector<float> weights(kWeights, 0.0F);
  for (const Logged& logged : log_) {
    for (std::size_t index = 0; index < kWeights; ++index) {
      weights[index] += logged.slot.step[index];
    }
  }
  return std::memcmp(weights.data(), published_.front().weights, sizeof(Published::weights)) == 0;
}

std::uint64_t ParameterServer::digest(std::uint32_t worker) {
  std::uint64_t digest = 0;
  for (const Logged& logged : log_) {
    if (logged.worker == worker) {
      digest = digest_step(digest, logged.slot.step);
    }
  }
  return digest;
}

Traffic ParameterServer::traffic() {
  return traffic_of(context_.node());
}

std::uint64_t digest_step(std::uint64_t digest, const float (&step)[kWeights]) {
  for (const float value : step) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    digest = ferry::mix64(digest ^ bits);
  }
  return digest;
}

Traffic traffic_of(const ferry::NodeCore& node) {
  const ferry::TrafficCounters& counters = node.traffic();
  return {counters.messages.load(), counters.message_bytes.load() + counters.notification_bytes.load(),
          counters.heartbeat_bytes.load()};
}

}  // namespace parameter_server
