#include "worker.hpp"

#include <algorithm>

#include <ferry/base/random.hpp>

namespace parameter_server {

Worker::Worker(ferry::ActorContext& context, const WorkerOptions& common)
    : context_(context), options_(common), data_(Dataset::load(common.data)) {}

ferry::Task<void> Worker::join(std::uint32_t worker, ferry::ActorRef<ParameterServer> server) {
  options_.worker = worker;
  auto references = server.call<&ParameterServer::references>(worker);
  server_ = co_await references;
}

ferry::Task<EpochReport> Worker::train(std::uint32_t epoch) {
  std::vector<const Row*> share;
  const std::span<const Row> rows = data_.training();
  for (std::size_t row = options_.worker; row < rows.size(); row += options_.workers) {
    share.push_back(&rows[row]);
  }
  ferry::Random random(ferry::mix64(options_.seed) ^ (std::uint64_t{options_.worker} << 32) ^ epoch);
  for (std::size_t left = share.size(); left > 1; --left) {
    std::swap(share[left - 1], share[random.below(left)]);
  }

  EpochReport report;
  for (std::size_t begin = 0; begin < share.size(); begin += options_.batch) {
    const std::size_t count = std::min<std::size_t>(options_.batch, share.size() - begin);
    co_await server_.weights.read_into(std::span(weights_));
    report.one_sided_bytes += server_.weights.size();
    gradient_step(std::span<const float, kWeights>(weights_), std::span(share).subspan(begin, count), options_.rate,
                  std::span<float, kWeights>(step_.step));
    ++report.steps;
    if (options_.push) {
      auto pushed = push(report);
      co_await pushed;
    }
  }
  co_return report;
}

// Writes the step into the next slot, once the server has added what was there, and notifies.
ferry::Task<void> Worker::push(EpochReport& report) {
  while (pushed_ - applied_ >= kSlots) {
    co_await server_.applied.read_into(std::span(&applied_, 1));
    report.one_sided_bytes += sizeof(applied_);
    if (pushed_ - applied_ >= kSlots) {
      auto nap = ferry::sleep_for(std::chrono::microseconds(50));  // the server has its hands full
      co_await nap;
    }
  }
  const ferry::BufferRef slot = server_.slots.subrange(pushed_ % kSlots * sizeof(Slot), sizeof(Slot));
  co_await slot.write_from(std::span<const float>(step_.step), {.notify = options_.worker});
  report.one_sided_bytes += sizeof(Slot);
  digest_ = digest_step(digest_, step_.step);
  ++pushed_;
}

Traffic Worker::traffic() {
  return traffic_of(context_.node());
}

}  // namespace parameter_server
