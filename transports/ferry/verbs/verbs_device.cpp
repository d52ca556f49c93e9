#include <ferry/verbs/verbs_device.hpp>

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include <ferry/verbs/verbs_failure.hpp>

namespace ferry::verbs {
namespace {

constexpr std::size_t kReads = 128;  // under way on one queue pair, at most

queue::OrderClass order_of(const Context& context, VerbsOptions::Order wanted) noexcept {
  if (context.is_iwarp()) {
    return queue::OrderClass::iwarp;
  }
  // The only device known to place in order: rdma_rxe executes the packets of a queue pair one after the other.
  const bool is_strict =
      wanted == VerbsOptions::Order::strict || (wanted == VerbsOptions::Order::automatic && context.is_soft_roce());
  return is_strict ? queue::OrderClass::strict : queue::OrderClass::unordered;
}

std::uint32_t random_packet() noexcept {
  std::uint32_t bits = 0;
  if (::getrandom(&bits, sizeof bits, 0) != static_cast<ssize_t>(sizeof bits)) {
    bits = 1;
  }
  return bits & QueueAddress::kNumberMask;
}

}  // namespace

Result<std::unique_ptr<VerbsDevice>> VerbsDevice::create(const Calls& calls, const VerbsOptions& options,
                                                         Reactor& reactor, Log& log) {
  auto context = Context::open(calls, options);
  if (!context) {
    return context.error();
  }
  auto domain = ProtectionDomain::create(*context);
  if (!domain) {
    return domain.error();
  }
  auto channel = CompletionChannel::create(*context);
  if (!channel) {
    return channel.error();
  }
  auto device = std::make_unique<VerbsDevice>(*domain, *channel, options, reactor, log);
  auto word = MemoryRegion::create(*domain, reinterpret_cast<std::byte*>(&device->word_), sizeof device->word_,
                                   reinterpret_cast<std::uintptr_t>(&device->word_), IBV_ACCESS_REMOTE_READ);
  if (!word) {
    return word.error();
  }
  device->word_region_ = std::make_unique<MemoryRegion>(std::move(*word));
  auto completions = device->completion_queue(0);
  if (!completions) {
    return completions.error();
  }
  device->find_inline_bytes();
  return device;
}

VerbsDevice::VerbsDevice(std::shared_ptr<ProtectionDomain> domain, std::shared_ptr<CompletionChannel> channel,
                         const VerbsOptions& options, Reactor& reactor, Log& log)
    : domain_(std::move(domain)), channel_(std::move(channel)), options_(options), reactor_(reactor), log_(log) {
  const ibv_device_attr& device = context().attributes();
  limits_.order = order_of(context(), options.order);
  limits_.atomics = device.atomic_cap != IBV_ATOMIC_NONE;
  limits_.message = std::max<std::uint64_t>(context().port().max_msg_sz, 4096);
  limits_.granule = context().is_soft_roce() ? 1 : 8;  // rdma_rxe copies bytes (rep movsb), which tears words
  limits_.requests = static_cast<std::size_t>(std::max(device.max_qp_wr, 1));
  limits_.receives = limits_.requests;
  const auto reads = static_cast<std::size_t>(std::max(std::min(device.max_qp_rd_atom, device.max_qp_init_rd_atom), 1));
  limits_.reads = std::min({reads, kReads, options.max_rd_atomic == 0 ? kReads : options.max_rd_atomic});
}

VerbsDevice::~VerbsDevice() {
  end();
}

void VerbsDevice::begin() {
  has_begun_ = true;
  reactor_.add(static_cast<EventSource&>(*this));
  reactor_.add(async_);
}

void VerbsDevice::end() noexcept {
  if (std::exchange(has_begun_, false)) {
    reactor_.remove(async_);
    reactor_.remove(static_cast<EventSource&>(*this));
  }
}

// Devices tell what they take only when a queue pair is made.
void VerbsDevice::find_inline_bytes() {
  for (const std::uint32_t bytes : {256U, 128U, 64U, 32U}) {
    auto completions = completion_queue(2);
    if (!completions) {
      return;
    }
    const queue::QueuePairOptions options{.requests = 1, .receives = 1};
    if (Qp::create(domain_, *completions, options, options_, bytes)) {
      limits_.inline_bytes = bytes;
      return;
    }
  }
}

QueueAddress VerbsDevice::address_of(std::uint32_t queue_pair, std::uint32_t packet) const noexcept {
  QueueAddress address;
  address.is_ethernet = context().is_ethernet();
  address.gid_type = context().gid().type;
  address.mtu = static_cast<std::uint8_t>(context().port().active_mtu);
  address.lid = context().port().lid;
  address.reads = static_cast<std::uint8_t>(limits_.reads);
  address.queue_pair = queue_pair;
  address.packet = packet;
  address.gid = context().gid().gid;
  return address;
}

// With room for so many more.
Result<std::shared_ptr<CompletionQueue>> VerbsDevice::completion_queue(std::size_t completions) {
  const std::lock_guard lock(mutex_);
  for (const auto& queue : completions_) {
    if (queue->reserve(completions)) {
      return queue;
    }
  }
  auto made = CompletionQueue::create(channel_);
  if (!made) {
    return made.error();
  }
  if (!(*made)->reserve(completions)) {
    return Failure(errc::resource_exhausted,
                   fmt::format("a completion queue of {} takes {} entries at most, half of which are too few for a "
                               "queue pair with {}",
                               name(), (*made)->get()->cqe, completions));
  }
  completions_.push_back(*made);
  return *made;
}

Result<std::unique_ptr<queue::QueuePair>> VerbsDevice::create_queue_pair(const queue::QueuePairOptions& options,
                                                                         queue::QueueEvents& events) {
  {
    const std::lock_guard lock(mutex_);
    if (fatal_) {
      return fatal_;
    }
  }
  if (options.requests > limits_.requests || options.receives > limits_.receives) {
    return Failure(errc::invalid_argument,
                   fmt::format("a queue pair of {} requests and {} receives; {} takes {} and {} at most",
                               options.requests, options.receives, name(), limits_.requests, limits_.receives));
  }
  auto completions = completion_queue(options.requests + options.receives);
  if (!completions) {
    return completions.error();
  }
  auto qp = Qp::create(domain_, *completions, options, options_, static_cast<std::uint32_t>(limits_.inline_bytes));
  if (!qp) {
    return qp.error();
  }
  std::uint32_t serial = 0;
  {
    const std::lock_guard lock(mutex_);
    serial = next_serial_++;
  }
  auto queue = std::make_unique<VerbsQueuePair>(*this, std::move(*qp), options, events, serial, random_packet());
  const std::lock_guard lock(mutex_);
  queues_.emplace(serial, queue->teller());
  return queue;
}

void VerbsDevice::remove(VerbsQueuePair& queue) noexcept {
  const std::lock_guard lock(mutex_);
  queues_.erase(queue.serial());
}

VerbsDevice::Teller VerbsDevice::find(std::uint32_t serial) const noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = queues_.find(serial);
  return found == queues_.end() ? nullptr : found->second;
}

std::size_t VerbsDevice::queue_pairs() const noexcept {
  const std::lock_guard lock(mutex_);
  return queues_.size();
}

std::size_t VerbsDevice::local_registrations() const noexcept {
  const std::lock_guard lock(mutex_);
  return local_.size();
}

Result<std::uint32_t> VerbsDevice::register_local(std::byte* memory, std::size_t length) {
  const auto iova = reinterpret_cast<std::uintptr_t>(memory);
  auto region = MemoryRegion::create(domain_, memory, length, iova, IBV_ACCESS_LOCAL_WRITE);
  if (!region && region.error().code() != errc::resource_exhausted) {
    // Memory of this process that nobody may write is a good source.
    if (auto readable = MemoryRegion::create(domain_, memory, length, iova, 0)) {
      region = std::move(readable);
    }
  }
  if (!region) {
    return region.error();
  }
  const std::uint32_t key = region->lkey();
  const std::lock_guard lock(mutex_);
  local_.insert_or_assign(key, std::move(*region));
  return key;
}

void VerbsDevice::deregister_local(std::uint32_t local_key) noexcept {
  decltype(local_)::node_type region;
  const std::lock_guard lock(mutex_);
  region = local_.extract(local_key);
}

Result<queue::RemoteAddress> VerbsDevice::remote_address(const RemoteRegion& region, std::uint64_t offset) const {
  const TransportKey* const key = region.key_for(TransportId::verbs);
  if (key == nullptr) {
    return Failure(errc::unsupported, "the reference carries no key of an RDMA device");
  }
  return queue::RemoteAddress{key->key, key->address + offset};
}

queue::RemoteAddress VerbsDevice::readable_word() const {
  return {word_region_->rkey(), reinterpret_cast<std::uintptr_t>(&word_)};
}

}  // namespace ferry::verbs
