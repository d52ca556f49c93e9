#include "worker.hpp"

#include <algorithm>

#include <ferry/base/random.hpp>

namespace parameter_server {

Worker::Worker(ferry::ActorContext& context, const WorkerOptions& common)
    : context_(context), options_(common), data_(Dataset::load(common.data)) {}

ferry::Task<void> Worker::join(ferry::ActorRef<ParameterServer> server, std::uint32_t desk, std::uint32_t share) {
  share_ = share;
  auto references = server.call<&ParameterServer::references>(desk);
  server_ = co_await references;
}

std::vector<const Row*> Worker::shuffled_share(std::uint32_t epoch) const {
  std::vector<const Row*> share;
  const std::span<const Row> rows = data_.training();
  for (std::size_t row = share_; row < rows.size(); row += options_.workers) {
    share.push_back(&rows[row]);
  }
  ferry::Random random(ferry::mix64(options_.seed) ^ (std::uint64_t{share_} << 32) ^ epoch);
  for (std::size_t left = share.size(); left > 1; --left) {
    std::swap(share[left - 1], share[random.below(left)]);
  }
  return share;
}

ferry::Task<EpochReport> Worker::train(std::uint32_t epoch, std::uint64_t first) {
  const std::vector<const Row*> share = shuffled_share(epoch);
  EpochReport report;
  for (std::size_t begin = first * options_.batch; begin < share.size(); begin += options_.batch) {
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
  auto all_added = wait_until_pending(0, report);
  co_await all_added;
  co_return report;
}

// Writes the step into the next slot, once the server has added what was there, and notifies. An error ends the
// worker's part: nobody but the server knows whether the step has arrived.
ferry::Task<void> Worker::push(EpochReport& report) {
  auto slot_free = wait_until_pending(kSlots - 1, report);
  co_await slot_free;
  const ferry::BufferRef slot = server_.slots.subrange(pushed_ % kSlots * sizeof(Slot), sizeof(Slot));
  co_await slot.write_from(std::span<const float>(step_.step), {.notify = pushed_});
  report.one_sided_bytes += sizeof(Slot);
  digest_ = digest_step(digest_, step_.step);
  ++pushed_;
}

// Until the server has at most so many steps of this worker still to add.
ferry::Task<void> Worker::wait_until_pending(std::uint64_t most, EpochReport& report) {
  while (pushed_ - applied_ > most) {
    co_await server_.applied.read_into(std::span(&applied_, 1));
    report.one_sided_bytes += sizeof(applied_);
    if (pushed_ - applied_ > most) {
      auto nap = ferry::sleep_for(std::chrono::microseconds(50));  // the server has its hands full
      co_await nap;
    }
  }
}

Traffic Worker::traffic() {
  return traffic_of(context_.node());
}

}  // namespace parameter_server
