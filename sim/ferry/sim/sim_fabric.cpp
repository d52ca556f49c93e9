#include <ferry/sim/sim_fabric.hpp>

#include <array>
#include <utility>

#include <ferry/base/check.hpp>
#include <ferry/sim/memory_watch.hpp>
#include <ferry/sim/sim_stream.hpp>
#include <ferry/sim/sim_transport.hpp>

namespace ferry::sim {
namespace {

// A message takes the plain time, multiplied by one of these, in eighths.
constexpr std::array<std::int64_t, 8> kEighths{8, 0, 1, 4, 16, 32, 128, 512};

}  // namespace

SimFabric::SimFabric(Scheduler& scheduler, const FabricOptions& options) : network_(scheduler, options) {}

SimFabric::~SimFabric() {
  for (const auto& stream : streams_) {
    stream->abandon();
  }
}

void SimFabric::watch(MemoryWatch* watch) noexcept {
  watch_ = watch;
  network_.watch(watch);
}

Duration SimFabric::delay(std::uint64_t bytes, std::uint64_t stream) noexcept {
  const std::int64_t eighths = kEighths[scheduler().choose(ChoiceKind::latency, kEighths.size(), stream)];
  const Duration plain =
      options().latency + Duration(static_cast<std::int64_t>(bytes * 1000 / options().bytes_per_microsecond));
  return plain * eighths / 8;
}

void SimFabric::add(SimTransport& transport) {
  FERRY_CHECK(transports_.try_emplace(transport.process(), &transport).second);
}

void SimFabric::remove(SimTransport& transport) noexcept {
  transports_.erase(transport.process());
}

SimTransport* SimFabric::transport_of(ProcessNumber process) const noexcept {
  const auto found = transports_.find(process);
  return found == transports_.end() ? nullptr : found->second;
}

bool SimFabric::listen(Port port, SimTransport& transport) {
  return listening_.try_emplace(port, &transport).second;
}

void SimFabric::leave(Port port, const SimTransport& transport) noexcept {
  if (const auto found = listening_.find(port); found != listening_.end() && found->second == &transport) {
    listening_.erase(found);
  }
}

SimTransport* SimFabric::at(Port port) const noexcept {
  const auto found = listening_.find(port);
  return found == listening_.end() ? nullptr : found->second;
}

void SimFabric::add(std::shared_ptr<SimStream> stream) {
  std::erase_if(streams_, [](const auto& old) { return old->is_over(); });
  streams_.push_back(std::move(stream));
}

void SimFabric::killed(ProcessNumber process) noexcept {
  if (SimTransport* transport = transport_of(process)) {
    transport->killed();
  }
  for (const auto& stream : streams_) {
    stream->killed(process);
  }
}

void SimFabric::paused(ProcessNumber process) noexcept {
  for (const auto& [number, transport] : transports_) {
    if (number != process) {
      fall_silent(process, number);
    }
  }
}

void SimFabric::resumed(ProcessNumber process) noexcept {
  for (const auto& [number, transport] : transports_) {
    speak_again(process, number);
  }
}

void SimFabric::cut(ProcessNumber from, ProcessNumber to) noexcept {
  network_.link(from, to).is_cut = true;
  fall_silent(from, to);
}

void SimFabric::mend(ProcessNumber from, ProcessNumber to) noexcept {
  network_.link(from, to).is_cut = false;
  speak_again(from, to);
}

void SimFabric::hold(ProcessNumber from, ProcessNumber to) noexcept {
  network_.hold(from, to);
  fall_silent(from, to);
}

void SimFabric::release(ProcessNumber from, ProcessNumber to) noexcept {
  network_.release(from, to);
  speak_again(from, to);
}

void SimFabric::fall_silent(ProcessNumber from, ProcessNumber to) noexcept {
  for (const auto& stream : streams_) {
    stream->fall_silent(from, to);
  }
}

// Unless something else still keeps it silent.
void SimFabric::speak_again(ProcessNumber from, ProcessNumber to) noexcept {
  if (network_.is_blocked(from, to) || scheduler().is_paused(from)) {
    return;
  }
  for (const auto& stream : streams_) {
    stream->speak_again(from, to);
  }
}

}  // namespace ferry::sim
