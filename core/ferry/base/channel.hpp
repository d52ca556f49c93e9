// Channel<T>: a bounded queue from any thread to one awaiting task. Streams of notifications and events are made of it.
//
// try_push() never waits: a full channel says so. next() gives values in the order of pushing; after close(), what is
// left, and then throws. One next() at a time. The channel outlives its awaits.
#pragma once

#include <coroutine>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include <ferry/base/result.hpp>
#include <ferry/base/waiter.hpp>

namespace ferry {

template <class T>
class Channel {
 public:
  explicit Channel(std::size_t capacity) : capacity_(capacity) {}
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // False: full, or closed.
  bool try_push(T value) {
    const std::lock_guard lock(mutex_);
    if (closed_ || values_.size() >= capacity_) {
      return false;
    }
    values_.push_back(std::move(value));
    if (next_ != nullptr) {
      std::exchange(next_, nullptr)->wake();
    }
    return true;
  }

  std::optional<T> try_pop() {
    const std::lock_guard lock(mutex_);
    if (values_.empty()) {
      return std::nullopt;
    }
    std::optional<T> value(std::move(values_.front()));
    values_.pop_front();
    return value;
  }

  // Nothing is pushed any more; a next() that finds nothing left throws Error(why).
  void close(const Failure& why) {
    const std::lock_guard lock(mutex_);
    if (!closed_) {
      closed_ = why;
      if (next_ != nullptr) {
        std::exchange(next_, nullptr)->wake();
      }
    }
  }

  class Next;
  // Waits for a value. Throws Error: timed_out, cancelled, or what the channel was closed with.
  Next next(const Limits& limits = {}) { return Next(*this, limits); }

 private:
  const std::size_t capacity_;
  std::mutex mutex_;
  std::deque<T> values_;
  Failure closed_{};
  Next* next_ = nullptr;  // who waits
};

template <class T>
class [[nodiscard]] Channel<T>::Next final : private Waiter {
 public:
  using value_type = T;

  Next(Channel& channel, const Limits& limits) noexcept : channel_(channel), limits_(limits) {}
  Next(const Next&) noexcept = default;
  ~Next() {
    end();
    leave();
  }

  bool await_ready() {
    value_ = channel_.try_pop();
    return value_.has_value();
  }
  bool await_suspend(std::coroutine_handle<> handle) {
    begin(handle, limits_);
    {
      const std::lock_guard lock(channel_.mutex_);
      if (channel_.next_ != nullptr) {
        failure_ = Failure(errc::invalid_argument, "another task already waits for the next value of this stream");
      } else if (channel_.values_.empty() && !channel_.closed_ && !gave_up_) {
        channel_.next_ = this;
      } else {
        wake();
      }
      if (failure_) {
        wake();
      }
    }
    return commit();
  }
  T await_resume() {
    auto result = await_result();
    if (!result) {
      throw Error(result.error());
    }
    return std::move(*result);
  }
  Result<T> await_result() {
    end();
    leave();
    if (!value_) {
      value_ = channel_.try_pop();
    }
    if (value_) {
      return std::move(*value_);
    }
    const std::lock_guard lock(channel_.mutex_);
    return failure_ ? failure_ : channel_.closed_;
  }

 private:
  friend class Channel;

  void leave() noexcept {
    const std::lock_guard lock(channel_.mutex_);
    if (channel_.next_ == this) {
      channel_.next_ = nullptr;
    }
  }

  void give_up(errc reason) noexcept override {
    const std::lock_guard lock(channel_.mutex_);
    gave_up_ = true;
    failure_ = Failure(reason, reason == errc::timed_out ? "no value came within the limit" : "a stop was requested");
    if (channel_.next_ == this) {
      channel_.next_ = nullptr;
      wake();
    }
  }

  Channel& channel_;
  Limits limits_;
  std::optional<T> value_;
  Failure failure_{};
  bool gave_up_ = false;
};

}  // namespace ferry
