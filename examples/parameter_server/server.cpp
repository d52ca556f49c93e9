#include "server.hpp"

#include <atomic>
#include <cstddef>
#include <cstring>
#include <utility>

#include <ferry/base/random.hpp>
#include <ferry/transport/node_core.hpp>

namespace parameter_server {

ParameterServer::ParameterServer(ferry::ActorContext& context, const std::string& data)
    : context_(context),
      data_(Dataset::load(data)),
      weights_(kWeights),
      weights_buffer_(context.register_memory(std::span(weights_))) {}

std::uint32_t ParameterServer::open_desk() {
  auto desk = std::make_unique<SharedDesk>();
  desk->memory.resize(1);
  // From now on the worker may notify; the tags wait until they are asked for.
  desk->buffer = context_.register_memory(std::span(desk->memory), {.notifications = true});
  desks_.push_back(std::move(desk));
  return static_cast<std::uint32_t>(desks_.size() - 1);
}

References ParameterServer::references(std::uint32_t worker) {
  const ferry::RDMABuffer& desk = desks_.at(worker)->buffer;
  return {weights_buffer_.ref(ferry::Access::read),
          desk.ref(ferry::Access::read).subrange(offsetof(Desk, applied), sizeof(Desk::applied)),
          desk.ref(ferry::Access::write).subrange(offsetof(Desk, slots), sizeof(Desk::slots))};
}

ferry::Task<std::uint64_t> ParameterServer::serve(std::uint32_t worker) {
  SharedDesk& shared = *desks_.at(worker);
  Desk& desk = shared.memory.front();
  ferry::NotificationStream pushes = shared.buffer.notifications();
  for (;;) {
    auto pushed = ferry::as_result(pushes.next());
    const ferry::Result<std::uint64_t> turn = co_await pushed;
    if (!turn) {
      break;  // the desk is closed, and every tag that had arrived has been taken
    }
    add(worker, desk.slots[*turn % kSlots]);
    std::atomic_ref(desk.applied).store(*turn + 1, std::memory_order_release);
  }
  co_return desk.applied;
}

ferry::Task<void> ParameterServer::close_desk(std::uint32_t worker) {
  auto revoking = desks_.at(worker)->buffer.revoke();
  co_await revoking;
}

void ParameterServer::add(std::uint32_t worker, const Slot& slot) {
  log_.push_back({worker, slot});
  const Slot& logged = log_.back().slot;
  for (std::size_t index = 0; index < kWeights; ++index) {
    weights_[index] += logged.step[index];
  }
}

Progress ParameterServer::progress() {
  return {evaluate(std::span<const float, kWeights>(weights_), data_.held_out()), log_.size()};
}

bool ParameterServer::weights_are_the_sum_of_the_log() {
  std::vector<float> weights(kWeights, 0.0F);
  for (const Logged& logged : log_) {
    for (std::size_t index = 0; index < kWeights; ++index) {
      weights[index] += logged.slot.step[index];
    }
  }
  return std::memcmp(weights.data(), weights_.data(), kWeights * sizeof(float)) == 0;
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
