// A fake fabric for programs with threads: a thread of its own takes its steps in a drawn order, as a real device's
// polling would. Device: a FakeDevice, or one derived from it.
#pragma once

#include <thread>
#include <utility>

#include <ferry/base/random.hpp>
#include <ferry/litmus_run/board.hpp>

#include <fake_device.hpp>

namespace ferry::litmus_run {

template <class Device = test::FakeDevice>
class PolledFabric {
 public:
  // more: what the device's constructor wants besides the fabric and its order class.
  template <class... More>
  explicit PolledFabric(More&&... more) : device_(fabric_, queue::OrderClass::strict, std::forward<More>(more)...) {
    device_.set().atomics = true;
    device_.lands_late = true;
    polling_ = std::jthread([this](const std::stop_token& stop) { poll(stop); });
  }

  Device& device() noexcept { return device_; }
  const Device& device() const noexcept { return device_; }
  std::recursive_mutex& mutex() noexcept { return fabric_.mutex; }

 private:
  void poll(const std::stop_token& stop) {
    for (std::size_t turn = 0; !stop.stop_requested(); ++turn) {
      if (fabric_.step(random_.below(8))) {
        turn = 0;
      } else if (device_.landing() > 0) {
        device_.land_one(0);
      }
      wait_a_little(turn);
    }
  }

  test::FakeFabric fabric_;
  Device device_;
  Random random_{3};
  std::jthread polling_;
};

}  // namespace ferry::litmus_run
