// FakeFabric: what happens between devices and links of one process, one step at a time. For tests of the queue layer:
// the test decides when requests are executed, when bytes land, what fails and who is told.
//
// FakeDevice (fake_device.hpp) is the body of queue::Device on it, FakePipe (fake_pipe.hpp) of queue::ControlLink. Any
// thread may call what is tested; one steps. What a test sets or looks at itself, it does while nothing happens, or
// under FakeFabric::mutex.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace ferry::test {

class FakeFabric {
 public:
  // Things that keep their order among themselves: what one queue pair executes, what it is told, one direction of a
  // link.
  using Line = std::uint64_t;
  Line new_line() noexcept {
    const std::lock_guard lock(mutex);
    return next_line_++;
  }

  void schedule(Line line, std::function<void()> step) {
    const std::lock_guard lock(mutex);
    steps_.push_back({line, std::move(step)});
    changed.notify_all();
  }
  bool empty() const noexcept {
    const std::lock_guard lock(mutex);
    return steps_.empty();
  }
  // The oldest one.
  bool step() { return run(0); }
  // The oldest one of any line: choice picks among all that wait, and the first of its line is taken.
  bool step(std::size_t choice) {
    std::unique_lock lock(mutex);
    if (steps_.empty()) {
      return false;
    }
    const Line line = steps_[choice % steps_.size()].line;
    const auto first =
        std::find_if(steps_.begin(), steps_.end(), [line](const Step& step) { return step.line == line; });
    const auto index = static_cast<std::size_t>(first - steps_.begin());
    lock.unlock();
    return run(index);
  }

  mutable std::recursive_mutex mutex;   // guards everything of the fabric; not held while anybody is told anything
  std::condition_variable_any changed;  // there is a step; somebody has been told

 private:
  struct Step {
    Line line;
    std::function<void()> run;
  };

  bool run(std::size_t index) {
    std::unique_lock lock(mutex);
    if (index >= steps_.size()) {
      return false;
    }
    auto next = std::move(steps_[index].run);
    steps_.erase(steps_.begin() + static_cast<std::ptrdiff_t>(index));
    lock.unlock();
    next();
    return true;
  }

  std::deque<Step> steps_;
  Line next_line_ = 1;
};

// Somebody who is told something: whoever takes him away waits until he has been told, unless it is he himself.
class Told {
 public:
  template <class F>
  void tell(FakeFabric& fabric, const F& event) {
    {
      const std::lock_guard lock(fabric.mutex);
      if (is_gone_) {
        return;
      }
      teller_ = std::this_thread::get_id();
    }
    event();
    const std::lock_guard lock(fabric.mutex);
    teller_ = {};
    fabric.changed.notify_all();
  }
  // True: he was there.
  bool take_away(FakeFabric& fabric) {
    std::unique_lock lock(fabric.mutex);
    const bool was_there = !std::exchange(is_gone_, true);
    if (teller_ != std::this_thread::get_id()) {
      fabric.changed.wait(lock, [this] { return teller_ == std::thread::id(); });
    }
    return was_there;
  }
  bool is_gone() const noexcept { return is_gone_; }

 private:
  bool is_gone_ = false;
  std::thread::id teller_;
};

}  // namespace ferry::test
