// Awaits that a test completes by hand, and small tasks for the tests of base.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <text_of.hpp>

#include <ferry/base/result.hpp>
#include <ferry/base/task.hpp>
#include <ferry/base/waiter.hpp>

namespace ferry::test {

// Something that is completed from outside, once. Outlives its awaits.
class Event {
 public:
  void complete() noexcept {
    const std::lock_guard lock(mutex_);
    complete_ = true;
    if (waiter_ != nullptr) {
      std::exchange(waiter_, nullptr)->wake();
    }
  }
  bool is_awaited() const noexcept {
    const std::lock_guard lock(mutex_);
    return waiter_ != nullptr;
  }
  // Awaits that were dropped, or ended by a stop or deadline.
  int dropped() const noexcept { return dropped_.load(); }
  int gave_up() const noexcept { return gave_up_.load(); }

  class Wait final : private Waiter {
   public:
    Wait(Event& event, const Limits& limits) noexcept : Waiter(&give_up), event_(event), limits_(limits) {}
    ~Wait() {
      if (leave() && !resumed_ && started_) {
        event_.dropped_.fetch_add(1);
      }
    }
    bool await_ready() noexcept {
      const std::lock_guard lock(event_.mutex_);
      return event_.complete_;
    }
    bool await_suspend(std::coroutine_handle<> handle) {
      begin(handle, limits_);
      started_ = true;
      {
        const std::lock_guard lock(event_.mutex_);
        if (event_.complete_ || failure_) {
          wake();
        } else {
          event_.waiter_ = this;
        }
      }
      return commit();
    }
    void await_resume() {
      if (auto result = await_result(); !result) {
        throw Error(result.error());
      }
    }
    Result<void> await_result() {
      static_cast<void>(leave());
      resumed_ = true;
      return failure_ ? Result<void>(failure_) : Result<void>();
    }

   private:
    friend class Event;

    bool leave() noexcept {
      end();
      const std::lock_guard lock(event_.mutex_);
      if (event_.waiter_ == this) {
        event_.waiter_ = nullptr;
      }
      return true;
    }
    static void give_up(Waiter& waiter, errc reason) noexcept { static_cast<Wait&>(waiter).end_with(reason); }
    void end_with(errc reason) noexcept {
      const std::lock_guard lock(event_.mutex_);
      if (failure_) {
        return;
      }
      failure_ = Failure(reason, "gave up");
      event_.gave_up_.fetch_add(1);
      if (event_.waiter_ == this) {
        event_.waiter_ = nullptr;
        wake();
      }
    }
    Event& event_;
    Limits limits_;
    Failure failure_{};
    bool started_ = false;
    bool resumed_ = false;
  };

  Wait wait(const Limits& limits = {}) noexcept { return Wait(*this, limits); }

 private:
  mutable std::mutex mutex_;
  bool complete_ = false;
  Wait* waiter_ = nullptr;
  std::atomic<int> dropped_{0};
  std::atomic<int> gave_up_{0};
};

// Ends in place, but yields when its step has had its share and others wait.
class Inline final : private Waiter {
 public:
  explicit Inline(std::size_t bytes = 0) noexcept : Waiter(&cannot_give_up), bytes_(bytes) {}
  bool await_ready() noexcept { return !should_yield(bytes_); }
  bool await_suspend(std::coroutine_handle<> handle) noexcept {
    yield(handle);
    return true;
  }
  bool await_resume() noexcept { return is_woken(); }  // whether it yielded

 private:
  std::size_t bytes_;
};

inline Task<int> value(int number) {
  co_return number;
}
inline Task<void> wait_for(Event& event) {
  auto wait = event.wait();
  co_await wait;
}
inline Task<int> value_after(Event& event, int number) {
  auto wait = event.wait();
  co_await wait;
  co_return number;
}
inline Task<int> failure_after(Event& event, std::string text) {
  auto wait = event.wait();
  co_await wait;
  throw Error(Failure(errc::overloaded, std::move(text)));
}

// The code of what the function throws; nothing if it does not.
template <class F>
std::optional<errc> code_of(F&& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.ferry_code();
  }
  return std::nullopt;
}

}  // namespace ferry::test
