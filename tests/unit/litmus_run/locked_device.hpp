// A device of the fake fabric for programs with threads: one at a time is let in, and a thread of its own takes the
// fabric's steps in a drawn order, as a real device's polling would.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include <ferry/base/random.hpp>
#include <ferry/litmus_run/board.hpp>
#include <ferry/queue/device.hpp>

#include "fake_fabric.hpp"

namespace ferry::litmus_run {

// The fake fabric takes one thread at a time.
class LockedFabric {
 public:
  LockedFabric() {
    device_.set().atomics = true;
    device_.lands_late = true;
    polling_ = std::jthread([this](const std::stop_token& stop) {
      for (std::size_t turn = 0; !stop.stop_requested(); ++turn) {
        const std::lock_guard lock(mutex);
        if (fabric_.step(random_.below(8))) {
          turn = 0;
        } else if (device_.landing() > 0) {
          device_.land_one(0);
        }
        wait_a_little(turn);
      }
    });
  }

  test::FakeDevice& inner() noexcept { return device_; }

  std::recursive_mutex mutex;  // events post receives

 private:
  test::FakeFabric fabric_;
  test::FakeDevice device_{fabric_, queue::OrderClass::strict};
  Random random_{3};
  std::jthread polling_;
};

class LockedQueuePair final : public queue::QueuePair {
 public:
  LockedQueuePair(LockedFabric& fabric, std::unique_ptr<queue::QueuePair> inner)
      : fabric_(fabric), inner_(std::move(inner)) {}
  ~LockedQueuePair() override {
    const std::lock_guard lock(fabric_.mutex);
    inner_.reset();
  }
  wire::Bytes address() const override { return inner_->address(); }
  Result<void> connect(wire::ByteView other) override {
    const std::lock_guard lock(fabric_.mutex);
    return inner_->connect(other);
  }
  Result<void> post(std::span<const queue::WorkRequest> requests) override {
    const std::lock_guard lock(fabric_.mutex);
    return inner_->post(requests);
  }
  Result<void> post_receive(std::uint64_t id, std::byte* local, std::size_t length, std::uint32_t key) override {
    const std::lock_guard lock(fabric_.mutex);
    return inner_->post_receive(id, local, length, key);
  }
  void stop() noexcept override {
    const std::lock_guard lock(fabric_.mutex);
    inner_->stop();
  }

 private:
  LockedFabric& fabric_;
  std::unique_ptr<queue::QueuePair> inner_;
};

class LockedDevice : public queue::Device {
 public:
  explicit LockedDevice(LockedFabric& fabric) : fabric_(fabric) {}
  const queue::DeviceLimits& limits() const noexcept override { return fabric_.inner().limits(); }
  Result<std::unique_ptr<queue::QueuePair>> create_queue_pair(const queue::QueuePairOptions& options,
                                                              queue::QueueEvents& events) override {
    const std::lock_guard lock(fabric_.mutex);
    auto made = fabric_.inner().create_queue_pair(options, events);
    if (!made) {
      return made.error();
    }
    // Events name the queue pair that was made inside; the bodies here post to that one, under the lock already.
    return std::unique_ptr<queue::QueuePair>(std::make_unique<LockedQueuePair>(fabric_, std::move(*made)));
  }
  Result<std::uint32_t> register_local(std::byte* memory, std::size_t length) override {
    const std::lock_guard lock(fabric_.mutex);
    return fabric_.inner().register_local(memory, length);
  }
  void deregister_local(std::uint32_t key) noexcept override {
    const std::lock_guard lock(fabric_.mutex);
    fabric_.inner().deregister_local(key);
  }
  Result<queue::RemoteAddress> remote_address(const RemoteRegion& region, std::uint64_t offset) const override {
    return fabric_.inner().remote_address(region, offset);
  }
  queue::RemoteAddress readable_word() const override { return fabric_.inner().readable_word(); }

 private:
  LockedFabric& fabric_;
};

}  // namespace ferry::litmus_run
