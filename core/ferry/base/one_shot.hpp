// OneShot<T>: a value that comes once, from any thread, to one task that waits for it.
//
// A handle: copies share the value, so either side may go first. The wait cannot be cut short by a stop or deadline
// (what it is for is short, or must not be left alone); it may be dropped.
#pragma once

#include <coroutine>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <ferry/base/waiter.hpp>

namespace ferry {

template <class T>
class OneShot {
  struct Shared {
    std::mutex mutex;
    std::optional<T> value;
    Waiter* waiter = nullptr;
  };

 public:
  // Once.
  void set(T value) const {
    const std::lock_guard lock(state_->mutex);
    state_->value.emplace(std::move(value));
    if (state_->waiter != nullptr) {
      std::exchange(state_->waiter, nullptr)->wake();
    }
  }

  class Wait final : private Waiter {
   public:
    explicit Wait(std::shared_ptr<Shared> state) noexcept : Waiter(&cannot_give_up), state_(std::move(state)) {}
    ~Wait() { leave(); }

    bool await_ready() const {
      const std::lock_guard lock(state_->mutex);
      return state_->value.has_value();
    }
    bool await_suspend(std::coroutine_handle<> handle) {
      begin(handle, {});
      {
        const std::lock_guard lock(state_->mutex);
        if (state_->value) {
          wake();
        } else {
          state_->waiter = this;
        }
      }
      return commit();
    }
    T await_resume() {
      leave();
      return std::move(*state_->value);
    }

   private:
    // Afterwards nobody touches this any more.
    void leave() noexcept {
      end();
      const std::lock_guard lock(state_->mutex);
      if (state_->waiter == this) {
        state_->waiter = nullptr;
      }
    }

    std::shared_ptr<Shared> state_;
  };

  Wait operator co_await() const { return Wait(state_); }

 private:
  std::shared_ptr<Shared> state_ = std::make_shared<Shared>();
};

}  // namespace ferry
