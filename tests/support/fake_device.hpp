// FakeDevice: the body of queue::Device on a FakeFabric: its queue pairs execute what is posted to them in the order
// that the device's class promises, unless the test has it otherwise.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <ferry/queue/device.hpp>

#include "fake_fabric.hpp"

namespace ferry::test {

class FakeDevice;

// Both ends of a connected pair know each other's state; whoever goes first leaves the other nothing to reach.
struct FakeQueueState {
  struct Receive {
    std::uint64_t id = 0;
    std::byte* local = nullptr;
    std::size_t length = 0;
  };
  struct Landing {
    std::byte* to = nullptr;
    std::vector<std::byte> bytes;
    std::uint64_t message = 0;
  };

  FakeDevice* device = nullptr;
  queue::QueueEvents* events = nullptr;
  queue::QueuePair* face = nullptr;  // null: destroyed
  Told told;
  std::weak_ptr<FakeQueueState> other;
  std::deque<queue::WorkRequest> requests;
  std::deque<Receive> receives;
  std::deque<Landing> landing;  // of what the other end wrote
  queue::QueuePairOptions options;
  std::size_t out = 0;
  std::uint32_t accepted = 0;             // requests of the other end
  std::vector<std::uint64_t> posted_ids;  // of all requests, in their order
  std::size_t number = 0;
  FakeFabric::Line executes = 0;
  FakeFabric::Line tells = 0;
  bool has_refused = false;  // a request of the other end: none behind it is accepted
  bool is_connected = false;
  bool is_stopped = false;

  void land() {
    for (const Landing& each : landing) {
      std::memcpy(each.to, each.bytes.data(), each.bytes.size());
    }
    landing.clear();
  }
};

class FakeQueuePair final : public queue::QueuePair {
 public:
  FakeQueuePair(FakeDevice& device, queue::QueueEvents& events, const queue::QueuePairOptions& options);
  ~FakeQueuePair() override;

  wire::Bytes address() const override {
    return wire::Bytes(static_cast<std::size_t>(8), static_cast<std::byte>(state_->number));
  }
  Result<void> connect(wire::ByteView other) override;
  Result<void> post(std::span<const queue::WorkRequest> requests) override;
  Result<void> post_receive(std::uint64_t id, std::byte* local, std::size_t length, std::uint32_t key) override;
  void stop() noexcept override;
  bool has_refused() const noexcept override { return state_->has_refused; }
  std::optional<std::uint32_t> progress() const noexcept override;
  queue::Acceptance acceptance(std::uint64_t id, std::uint32_t progress) const noexcept override;

 private:
  std::shared_ptr<FakeQueueState> state_;
};

class FakeDevice : public queue::Device {
 public:
  struct Region {
    std::byte* base = nullptr;
    std::size_t size = 0;
    Access rights = Access::none;
  };
  struct Fault {
    std::size_t after = 0;       // requests that are executed before
    queue::WorkStatus status{};  // remote_refusal: of the next get, which had been executed and was sent again
    bool executes = false;       // the one that fails
    std::size_t behind = 0;      // requests behind it that are executed as well, and end flushed
  };

  FakeDevice(FakeFabric& fabric, queue::OrderClass order) : fabric_(fabric) { limits_.order = order; }

  queue::DeviceLimits& set() noexcept { return limits_; }
  // --- What the test sets.
  bool is_held = false;         // no request is executed
  bool lands_late = false;      // puts wait until the class promises that they are in memory, or land() is called
  bool loses_refusals = false;  // a refused request is told to have been unreachable
  bool refuses_post = false;    // post() has no room
  bool tells_progress = false;  // QueuePair::progress()
  std::optional<Fault> fault;
  Failure create_failure{};    // of create_queue_pair
  Failure register_failure{};  // of register_local

  // --- What has happened.
  std::vector<queue::WorkRequest> executed;  // in their order; requests of this device
  std::size_t posts = 0;
  std::size_t waits_for_receive = 0;  // how often a request found no receive at the other end
  std::size_t queue_pairs = 0;        // that live
  std::size_t created = 0;
  std::size_t local_keys = 0;  // that live

  void release() {
    const std::lock_guard lock(fabric_.mutex);
    is_held = false;
    for (const auto& each : states_) {
      if (const auto state = each.lock()) {
        wake(state);
      }
    }
  }
  // What was put into this device's memory, and had not landed.
  void land() {
    const std::lock_guard lock(fabric_.mutex);
    for (const auto& each : states_) {
      if (const auto state = each.lock()) {
        state->land();
      }
    }
  }
  // One of them, where any may be next: not on a strict device.
  void land_one(std::size_t choice) {
    const std::lock_guard lock(fabric_.mutex);
    for (const auto& each : states_) {
      const auto state = each.lock();
      if (state == nullptr || state->landing.empty()) {
        continue;
      }
      const std::size_t index = limits_.order == queue::OrderClass::strict ? 0 : choice % state->landing.size();
      const FakeQueueState::Landing& landing = state->landing[index];
      std::memcpy(landing.to, landing.bytes.data(), landing.bytes.size());
      state->landing.erase(state->landing.begin() + static_cast<std::ptrdiff_t>(index));
      return;
    }
  }
  std::size_t landing() const {
    const std::lock_guard lock(fabric_.mutex);
    std::size_t count = 0;
    for (const auto& each : states_) {
      const auto state = each.lock();
      count += state == nullptr ? 0 : state->landing.size();
    }
    return count;
  }
  // The device of these queue pairs reports that they are of no use.
  void lose_queues(const Failure& why) {
    const std::lock_guard lock(fabric_.mutex);
    for (const auto& each : states_) {
      if (const auto state = each.lock(); state != nullptr && state->face != nullptr) {
        state->is_stopped = true;
        fabric_.schedule(state->tells, [this, state, why] {
          state->told.tell(fabric_, [&] { state->events->on_queue_lost(*state->face, why); });
        });
      }
    }
  }

  std::uint32_t add_region(std::byte* base, std::size_t size, Access rights) {
    const std::lock_guard lock(fabric_.mutex);
    regions_[++next_key_] = Region{base, size, rights};
    return next_key_;
  }
  void remove_region(std::uint32_t key) {
    const std::lock_guard lock(fabric_.mutex);
    land();
    regions_.erase(key);
  }

  // --- Device.
  const queue::DeviceLimits& limits() const noexcept override { return limits_; }
  Result<std::unique_ptr<queue::QueuePair>> create_queue_pair(const queue::QueuePairOptions& options,
                                                              queue::QueueEvents& events) override {
    const std::lock_guard lock(fabric_.mutex);
    if (create_failure) {
      return create_failure;
    }
    return std::unique_ptr<queue::QueuePair>(std::make_unique<FakeQueuePair>(*this, events, options));
  }
  Result<std::uint32_t> register_local(std::byte* memory, std::size_t length) override {
    const std::lock_guard lock(fabric_.mutex);
    if (register_failure) {
      return register_failure;
    }
    ++local_keys;
    local_[++next_key_] = Region{memory, length, Access::all};
    return next_key_;
  }
  void deregister_local(std::uint32_t key) noexcept override {
    const std::lock_guard lock(fabric_.mutex);
    local_keys -= local_.erase(key);
  }
  Result<queue::RemoteAddress> remote_address(const RemoteRegion& region, std::uint64_t offset) const override {
    const TransportKey* key = region.key_for(TransportId::sim);
    if (key == nullptr) {
      return Failure(errc::unsupported, "the reference has no key of this transport");
    }
    return queue::RemoteAddress{key->key, key->address + offset};
  }
  queue::RemoteAddress readable_word() const override { return {0, reinterpret_cast<std::uintptr_t>(&word_)}; }

 private:
  friend class FakeQueuePair;

  std::byte* reach(queue::RemoteAddress at, std::uint64_t length, Access needed) {
    auto* const to = reinterpret_cast<std::byte*>(at.address);
    if (at.key == 0) {
      return reinterpret_cast<std::byte*>(&word_);
    }
    const auto found = regions_.find(at.key);
    if (found == regions_.end() || !permits(found->second.rights, needed) || to < found->second.base ||
        length > found->second.size - static_cast<std::size_t>(to - found->second.base)) {
      return nullptr;
    }
    return to;
  }
  bool reaches_local(const queue::WorkRequest& request) const {
    if (!limits_.needs_local_keys || request.length == 0) {
      return true;
    }
    const auto found = local_.find(request.local_key);
    return found != local_.end() && request.local >= found->second.base &&
           request.local + request.length <= found->second.base + found->second.size;
  }
  void wake(const std::shared_ptr<FakeQueueState>& state) {
    fabric_.schedule(state->executes, [this, state] { execute_next(state); });
  }
  void complete(const std::shared_ptr<FakeQueueState>& state, queue::WorkCompletion completion,
                bool is_silent = false) {
    fabric_.schedule(state->tells, [this, state, completion, is_silent] {
      {
        const std::lock_guard lock(fabric_.mutex);
        state->out -= completion.is_receive ? 0U : 1U;
      }
      if (!is_silent) {
        state->told.tell(fabric_, [&] { state->events->on_completion(*state->face, completion); });
      }
    });
  }

  void execute_next(const std::shared_ptr<FakeQueueState>& state) {
    const std::lock_guard lock(fabric_.mutex);
    if (state->face == nullptr || is_held || !state->is_connected || state->requests.empty()) {
      return;
    }
    const bool is_srd = limits_.order == queue::OrderClass::srd;
    const queue::WorkRequest request = is_srd ? state->requests.back() : state->requests.front();
    queue::WorkCompletion completion;
    completion.id = request.id;
    if (state->is_stopped) {
      completion.status = queue::WorkStatus::flushed;
    } else if (fault && fault->after == 0 &&
               (fault->status != queue::WorkStatus::remote_refusal || request.verb == queue::Verb::get)) {
      completion.status = fault->status;
      bool goes_on = fault->executes && execute(*state, request) == queue::WorkStatus::success;
      for (std::size_t index = 1; goes_on && index <= fault->behind && index < state->requests.size(); ++index) {
        goes_on = execute(*state, state->requests[index]) == queue::WorkStatus::success;
      }
      if (const auto other = state->other.lock(); other != nullptr && !is_srd) {
        other->has_refused = other->has_refused || completion.status == queue::WorkStatus::remote_refusal;
      }
      fault.reset();
    } else {
      const auto status = execute(*state, request);
      if (!status) {
        return;  // no receive there: tried again when there is one
      }
      if (fault && fault->after > 0) {
        --fault->after;
      }
      completion.status = *status;
    }
    is_srd ? state->requests.pop_back() : state->requests.pop_front();
    const bool refused = completion.status == queue::WorkStatus::remote_refusal;
    if (refused && loses_refusals && !is_srd) {
      completion.status = queue::WorkStatus::unreachable;
    }
    if (limits_.order == queue::OrderClass::iwarp && refused && request.verb == queue::Verb::put) {
      completion.status = queue::WorkStatus::success;  // its local bytes were read: that is all it says
      complete(state, completion);
      state->is_stopped = true;
      fabric_.schedule(state->tells, [this, state] {
        state->told.tell(fabric_, [&] {
          state->events->on_queue_lost(*state->face, Failure(errc::peer_lost, "the other end closed the queue"));
        });
      });
    } else {
      state->is_stopped =
          state->is_stopped || (completion.status != queue::WorkStatus::success && !(is_srd && refused));
      complete(state, completion, !request.signaled && completion.status == queue::WorkStatus::success);
    }
    wake(state);
  }

  // Nothing: it waits for a receive.
  std::optional<queue::WorkStatus> execute(FakeQueueState& state, const queue::WorkRequest& request) {
    using queue::OrderClass;
    using queue::Verb;
    const auto other = state.other.lock();
    if (other == nullptr || other->face == nullptr || other->is_stopped) {
      return queue::WorkStatus::unreachable;
    }
    if (!reaches_local(request)) {
      return queue::WorkStatus::local_refusal;
    }
    FakeDevice& there = *other->device;
    const bool takes_receive = request.verb == Verb::send || request.has_immediate;
    const Access needed = request.verb == Verb::put   ? Access::write
                          : request.verb == Verb::get ? Access::read
                                                      : Access::atomic;
    std::byte* remote = nullptr;
    if (request.verb != Verb::send && request.length > 0) {
      remote = there.reach(request.remote, request.length, needed);
      if (remote == nullptr) {
        other->has_refused = limits_.order != OrderClass::srd;
        return queue::WorkStatus::remote_refusal;
      }
    }
    if (takes_receive && other->receives.empty()) {
      ++waits_for_receive;
      return std::nullopt;
    }
    executed.push_back(request);
    ++other->accepted;
    switch (request.verb) {
      case Verb::put:
        if (request.length > 0) {
          other->landing.push_back({remote, {request.local, request.local + request.length}, request.id});
        }
        break;
      case Verb::get:
        if (limits_.order == OrderClass::strict) {
          other->land();
        }
        std::memcpy(request.local, remote, request.length);
        break;
      case Verb::fetch_add:
      case Verb::compare_swap: {
        other->land();
        std::uint64_t old = 0;
        std::memcpy(&old, remote, sizeof old);
        const std::uint64_t now = request.verb == Verb::fetch_add ? old + request.operand
                                  : old == request.expected       ? request.operand
                                                                  : old;
        std::memcpy(remote, &now, sizeof now);
        std::memcpy(request.local, &old, sizeof old);
        break;
      }
      case Verb::flush:
        other->land();
        break;
      case Verb::send:
        break;
    }
    if (takes_receive) {
      if (limits_.order != OrderClass::srd) {
        other->land();  // a receive completion is behind all earlier puts
      } else {
        land_one(*other, request.id);
      }
      const FakeQueueState::Receive receive = other->receives.front();
      other->receives.pop_front();
      queue::WorkCompletion arrived;
      arrived.id = receive.id;
      arrived.is_receive = true;
      arrived.has_immediate = request.has_immediate;
      arrived.immediate = request.immediate;
      if (request.verb == Verb::send) {
        std::memcpy(receive.local, request.local, std::min<std::size_t>(request.length, receive.length));
        arrived.length = request.length;
      }
      there.complete(other, arrived);
    }
    if (!lands_late) {
      other->land();
    }
    return queue::WorkStatus::success;
  }
  static void land_one(FakeQueueState& state, std::uint64_t message) {
    for (auto& each : state.landing) {
      if (each.message == message) {
        std::memcpy(each.to, each.bytes.data(), each.bytes.size());
        each.bytes.clear();
      }
    }
  }

  FakeFabric& fabric_;
  queue::DeviceLimits limits_;
  std::uint64_t word_ = 0;
  std::uint32_t next_key_ = 0;
  std::map<std::uint32_t, Region> regions_;
  std::map<std::uint32_t, Region> local_;
  std::vector<std::weak_ptr<FakeQueueState>> states_;
  static inline std::map<std::size_t, std::weak_ptr<FakeQueueState>> by_number_;
  static inline std::size_t next_number_ = 1;
};

inline FakeQueuePair::FakeQueuePair(FakeDevice& device, queue::QueueEvents& events,
                                    const queue::QueuePairOptions& options)
    : state_(std::make_shared<FakeQueueState>()) {
  const std::lock_guard lock(device.fabric_.mutex);
  state_->device = &device;
  state_->events = &events;
  state_->face = this;
  state_->executes = device.fabric_.new_line();
  state_->tells = device.fabric_.new_line();
  state_->options = options;
  state_->number = FakeDevice::next_number_++ % 250 + 1;
  FakeDevice::by_number_[state_->number] = state_;
  device.states_.push_back(state_);
  ++device.queue_pairs;
  ++device.created;
}

inline FakeQueuePair::~FakeQueuePair() {
  FakeFabric& fabric = state_->device->fabric_;
  state_->told.take_away(fabric);
  const std::lock_guard lock(fabric.mutex);
  state_->face = nullptr;
  --state_->device->queue_pairs;
}

inline Result<void> FakeQueuePair::connect(wire::ByteView other) {
  const std::lock_guard lock(state_->device->fabric_.mutex);
  const auto found = FakeDevice::by_number_.find(static_cast<std::size_t>(other.empty() ? std::byte{0} : other[0]));
  if (found == FakeDevice::by_number_.end() || found->second.lock() == nullptr) {
    return Failure(errc::malformed, "no queue pair has that address");
  }
  state_->other = found->second;
  state_->is_connected = true;
  state_->device->wake(state_);
  return {};
}

inline Result<void> FakeQueuePair::post(std::span<const queue::WorkRequest> requests) {
  FakeDevice& device = *state_->device;
  const std::lock_guard lock(device.fabric_.mutex);
  if (device.refuses_post || state_->out + requests.size() > state_->options.requests) {
    return Failure(errc::resource_exhausted, "the queue is full");
  }
  ++device.posts;
  state_->out += requests.size();
  for (const queue::WorkRequest& request : requests) {
    state_->requests.push_back(request);
    state_->posted_ids.push_back(request.id);
  }
  device.wake(state_);
  return {};
}

inline Result<void> FakeQueuePair::post_receive(std::uint64_t id, std::byte* local, std::size_t length, std::uint32_t) {
  const std::lock_guard lock(state_->device->fabric_.mutex);
  state_->receives.push_back({id, local, length});
  if (const auto other = state_->other.lock(); other != nullptr && other->face != nullptr) {
    other->device->wake(other);
  }
  return {};
}

inline std::optional<std::uint32_t> FakeQueuePair::progress() const noexcept {
  const std::lock_guard lock(state_->device->fabric_.mutex);
  return state_->device->tells_progress ? std::optional(state_->accepted) : std::nullopt;
}

inline queue::Acceptance FakeQueuePair::acceptance(std::uint64_t id, std::uint32_t progress) const noexcept {
  const std::lock_guard lock(state_->device->fabric_.mutex);
  const auto& ids = state_->posted_ids;
  const auto found = std::find(ids.begin(), ids.end(), id);
  if (found == ids.end()) {
    return queue::Acceptance::unknown;
  }
  return found - ids.begin() < static_cast<std::ptrdiff_t>(progress) ? queue::Acceptance::whole
                                                                     : queue::Acceptance::none;
}

inline void FakeQueuePair::stop() noexcept {
  const std::lock_guard lock(state_->device->fabric_.mutex);
  if (std::exchange(state_->is_stopped, true)) {
    return;
  }
  state_->land();
  for (const auto& receive : std::exchange(state_->receives, {})) {
    queue::WorkCompletion flushed;
    flushed.id = receive.id;
    flushed.is_receive = true;
    flushed.status = queue::WorkStatus::flushed;
    state_->device->complete(state_, flushed);
  }
  state_->device->wake(state_);
}

}  // namespace ferry::test
