#include <ferry/sim/nic/nic.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <ferry/sim/nic/sim_queue_pair.hpp>

namespace ferry::sim {
namespace {

constexpr std::uint64_t kLongestPause = 8;    // half latencies
constexpr std::uint64_t kLongestStall = 256;  // latencies
constexpr std::size_t kPolledAtOnce = 16;

}  // namespace

Nic::Nic(Network& network, ProcessNumber process, NicMemory& memory)
    : network_(network), process_(process), memory_(memory), poll_(this) {
  const FabricOptions& options = network.options();
  limits_ = {.order = options.profile->order_class,
             .atomics = options.profile->has_atomics,
             .flush = options.has_flushes,
             .message = options.message,
             .requests = options.requests,
             .receives = options.receives,
             .reads = options.reads,
             .inline_bytes = 0,
             .granule = options.granule,
             .needs_local_keys = options.locked_memory != kNoLimit};
}

Nic::~Nic() {
  network_.scheduler().withdraw(poll_);
}

Result<std::unique_ptr<queue::QueuePair>> Nic::create_queue_pair(const queue::QueuePairOptions& options,
                                                                 queue::QueueEvents& events) {
  if (options.requests == 0 || options.requests > limits_.requests || options.receives > limits_.receives) {
    return Failure(errc::invalid_argument,
                   fmt::format("a queue pair of {} requests and {} receives; the device has 1 to {} and up to {}",
                               options.requests, options.receives, limits_.requests, limits_.receives));
  }
  if (queues_.size() >= this->options().queue_pairs) {
    return Failure(errc::resource_exhausted,
                   fmt::format("the NIC has {} queue pairs, as many as it can", queues_.size()));
  }
  auto queue = std::make_unique<SimQueuePair>(*this, options, events);
  if (is_dead_) {
    queue->kill();
  }
  queues_.push_back(queue.get());
  return std::unique_ptr<queue::QueuePair>(std::move(queue));
}

Result<std::uint32_t> Nic::register_local(std::byte*, std::size_t length) {
  if (auto locked = lock_memory(length); !locked) {
    return locked.error();
  }
  local_[++last_local_] = length;
  return last_local_;
}

void Nic::deregister_local(std::uint32_t local_key) noexcept {
  if (const auto found = local_.find(local_key); found != local_.end()) {
    unlock_memory(found->second);
    local_.erase(found);
  }
}

Result<void> Nic::lock_memory(std::uint64_t bytes) {
  const std::uint64_t limit = options().locked_memory;
  if (bytes > limit - locked_) {
    return Failure(errc::resource_exhausted,
                   fmt::format("registering {} bytes: {} of the process's {} bytes of locked memory are in use; "
                               "register less, or raise FabricOptions::locked_memory",
                               bytes, locked_, limit));
  }
  locked_ += bytes;
  return {};
}

void Nic::remove(SimQueuePair& queue) noexcept {
  std::erase(queues_, &queue);
  std::erase_if(completions_, [&queue](const Entry& entry) { return entry.queue == &queue; });
}

void Nic::finish(const std::byte* at, std::uint64_t length) noexcept {
  for (SimQueuePair* queue : queues_) {
    queue->responder().finish(at, length);
  }
}

void Nic::kill() noexcept {
  is_dead_ = true;
  network_.scheduler().withdraw(poll_);
  completions_.clear();
  for (SimQueuePair* queue : queues_) {
    queue->kill();
  }
}

void Nic::hasten(Step& step, std::uint64_t number) noexcept {
  withdraw(step);
  schedule(step, StepKind::place, number, Duration::zero());
}

void Nic::fold_data(const std::byte* at, std::uint64_t length) noexcept {
  network_.scheduler().fold_data(wire::ByteView(at, length));
}

void Nic::note_write(const Arrival& arrival, std::uint64_t queue) noexcept {
  NicWatch* const watch = network_.watch();
  if (watch == nullptr) {
    return;
  }
  const SimQueuePair* const pair = network_.find(QueueNumber(static_cast<std::uint32_t>(queue)));
  const bool is_put = arrival.kind == Arrival::Kind::write && pair != nullptr;
  const std::uint64_t length = arrival.kind == Arrival::Kind::atomic ? sizeof(std::uint64_t) : arrival.length;
  watch->on_write(is_put ? pair->remote_process() : ProcessNumber{}, process_, arrival.at, length);
}

void Nic::note_read(const std::byte* at, std::uint64_t length, std::uint64_t queue) noexcept {
  if (NicWatch* const watch = network_.watch()) {
    if (const SimQueuePair* const pair = network_.find(QueueNumber(static_cast<std::uint32_t>(queue)))) {
      watch->on_read(pair->remote_process(), process_, at, length);
    }
  }
}

void Nic::note_send(const SimQueuePair& queue, const Arrival& entry) noexcept {
  if (NicWatch* const watch = network_.watch(); watch != nullptr && entry.at != nullptr) {
    watch->on_send(queue.remote(), queue.remote_process(), process_,
                   wire::ByteView(entry.at, static_cast<std::size_t>(entry.entry.length)));
  }
}

Nic::Pause Nic::pause(const Arrival& arrival, std::uint64_t queue) noexcept {
  if (arrival.is_data() || arrival.kind == Arrival::Kind::read) {
    if (network_.is_ghost(arrival.at, arrival.length)) {
      return {};
    }
  }
  const bool may_be_held = arrival.kind == Arrival::Kind::write && arrival.is_on_its_way;
  const Duration latency = options().latency;
  switch (network_.scheduler().choose(ChoiceKind::place, 8, queue)) {
    case 4:
      return {latency / 2};
    case 5:
      return {latency};
    case 6:
      return {latency * 8};
    case 7:
      return may_be_held ? Pause{options().hold, true} : Pause{latency * 32};
    default:
      return {};
  }
}

// Granules are counted from the offset, words from the address.
std::uint64_t Nic::torn(const std::byte* at, std::uint64_t offset, std::uint64_t length, std::uint64_t queue) noexcept {
  if (network_.is_ghost(at, length)) {
    return length;
  }
  const std::size_t granule = options().granule;
  const std::uint64_t position = offset + (reinterpret_cast<std::uintptr_t>(at) - offset) % sizeof(std::uint64_t);
  const std::uint64_t first = granule - position % granule;
  if (length <= first) {
    return length;
  }
  const std::uint64_t places = (length - first + granule - 1) / granule;
  const std::uint64_t chosen = network_.scheduler().choose(ChoiceKind::cut, places * 4, queue);
  return chosen < places * 3 ? length : first + (chosen - places * 3) * granule;
}

// Mostly none; now and then a little, and where stalls are asked for, long.
Duration Nic::stall(QueueNumber queue) noexcept {
  const std::uint64_t one_in = network_.rates().stall;
  if (one_in > 0 && network_.scheduler().choose(ChoiceKind::stall, 2, queue.value(), one_in) == 1) {
    return options().latency * static_cast<std::int64_t>(choose(ChoiceKind::latency, kLongestStall, queue));
  }
  const std::uint64_t pause = choose(ChoiceKind::early, 2 * kLongestPause, queue);
  return pause <= kLongestPause ? Duration::zero()
                                : options().latency * static_cast<std::int64_t>(pause - kLongestPause) / 2;
}

void Nic::give_back(Arrival& arrival) noexcept {
  arrival.has_unit = arrival.waits = arrival.is_held = arrival.is_on_its_way = false;
  arrival.taken = arrival.length = 0;
  arrival.at = nullptr;
  arrival.invalidates = 0;
  arrivals_.give_back(arrival);
}

void Nic::release_unit() noexcept {
  unit_ = nullptr;
  for (SimQueuePair* queue : queues_) {
    if (unit_ != nullptr) {
      return;
    }
    queue->responder().unit_is_free();
  }
}

void Nic::finish_unit() noexcept {
  if (unit_ != nullptr) {
    unit_->finish_unit();
  }
}

std::byte* Nic::reach(const queue::RemoteAddress& remote, Access needed, std::uint64_t length) noexcept {
  if (remote.key != kWordKey) {
    return memory_.reach(remote, needed, length);
  }
  const bool is_inside = remote.address <= sizeof word_ && length <= sizeof word_ - remote.address;
  return needed == Access::read && is_inside ? reinterpret_cast<std::byte*>(&word_) + remote.address : nullptr;
}

void Nic::complete(SimQueuePair& queue, const queue::WorkCompletion& completion) noexcept {
  if (is_dead_) {
    return;
  }
  if (completions_.size() >= options().completions && completion.status != queue::WorkStatus::flushed) {
    queue.lose(Failure(errc::resource_exhausted,
                       fmt::format("the completion queue overran: {} entries were not polled", completions_.size())));
    return;
  }
  completions_.push_back({&queue, completion});
  if (!poll_.is_scheduled()) {
    schedule(poll_, StepKind::poll, 0, Duration::zero());
  }
}

// The process looks at its completions.
void Nic::poll(Step& step) noexcept {
  Nic& self = *static_cast<Poll&>(step).nic;
  for (std::size_t count = 0; count < kPolledAtOnce && !self.completions_.empty(); ++count) {
    const Entry entry = self.completions_.front();
    self.completions_.pop_front();
    entry.queue->events().on_completion(*entry.queue, entry.completion);
  }
  if (!self.completions_.empty() && !step.is_scheduled()) {
    self.schedule(step, StepKind::poll, 0, Duration::zero());
  }
}

}  // namespace ferry::sim
