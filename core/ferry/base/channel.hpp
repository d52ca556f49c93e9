// Channel<T>: a bounded queue from any thread to one awaiting task. Streams of notifications and events are made of it.
//
// try_push() never waits: a full channel says so. next() gives values in the order of pushing; after close(), what is
// left, and then throws. One next() at a time. The channel outlives its awaits. A value that was on its way to an await
// that is dropped is not lost: the next one gets it.
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
    if (closed_ || (next_ == nullptr && values_.size() >= capacity_)) {
      return false;
    }
    if (!hand_over(value)) {
      values_.push_back(std::move(value));
    }
    return true;
  }

  // Somebody waits for the next value.
  bool is_awaited() {
    const std::lock_guard lock(mutex_);
    return next_ != nullptr;
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

  // Nothing is pushed any more; a next() that finds nothing left throws Error(why). The first reason counts.
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
  // To who waits, if anybody does. Locked.
  bool hand_over(T& value) {
    if (next_ == nullptr) {
      return false;
    }
    Next& next = *std::exchange(next_, nullptr);
    next.value_.emplace(std::move(value));
    next.wake();
    return true;
  }
  void give_back(T& value) {
    const std::lock_guard lock(mutex_);
    if (!hand_over(value)) {
      values_.push_front(std::move(value));
    }
  }

  const std::size_t capacity_;
  std::mutex mutex_;
  std::deque<T> values_;  // empty while somebody waits
  Failure closed_{};
  Next* next_ = nullptr;  // who waits
};

template <class T>
class [[nodiscard]] Channel<T>::Next final : private Waiter {
 public:
  using value_type = T;

  Next(Channel& channel, const Limits& limits) noexcept : Waiter(&give_up), channel_(channel), limits_(limits) {}
  Next(const Next& other) noexcept : Waiter(other), channel_(other.channel_), limits_(other.limits_) {}
  ~Next() {
    leave();
    if (value_) {
      channel_.give_back(*value_);
    }
  }

  bool await_ready() {
    failure_ = refusal(limits_);
    if (failure_) {
      return true;
    }
    value_ = channel_.try_pop();
    return value_ && !should_yield(0);
  }
  bool await_suspend(std::coroutine_handle<> handle) {
    if (value_) {
      yield(handle);
      return true;
    }
    begin(handle, limits_);
    waits_ = true;
    wait();
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
    leave();
    if (value_) {
      Result<T> taken(std::move(*value_));
      value_.reset();
      return taken;
    }
    return failure_;
  }

 private:
  friend class Channel;

  // Takes what has come meanwhile, or has itself noted as the one that waits.
  void wait() {
    const std::lock_guard lock(channel_.mutex_);
    if (failure_) {
      wake();  // gave up at once
    } else if (!channel_.values_.empty()) {
      value_.emplace(std::move(channel_.values_.front()));
      channel_.values_.pop_front();
      wake();
    } else if (channel_.closed_) {
      wake();
    } else if (channel_.next_ != nullptr) {
      failure_ = Failure(errc::invalid_argument, "another task already waits for the next value of this stream");
      wake();
    } else {
      channel_.next_ = this;
    }
  }

  // Afterwards nobody touches this any more.
  void leave() noexcept {
    end();
    if (!std::exchange(waits_, false)) {
      return;
    }
    const std::lock_guard lock(channel_.mutex_);
    if (channel_.next_ == this) {
      channel_.next_ = nullptr;
    }
    if (!value_ && !failure_) {
      failure_ = channel_.closed_;
    }
  }

  static void give_up(Waiter& waiter, errc reason) noexcept { static_cast<Next&>(waiter).end_with(reason); }
  void end_with(errc reason) noexcept {
    const std::lock_guard lock(channel_.mutex_);
    if (failure_ || value_) {
      return;
    }
    failure_ = given_up(reason, "no value came within the limit");
    if (channel_.next_ == this) {
      channel_.next_ = nullptr;
      wake();
    }
  }

  Channel& channel_;
  Limits limits_;
  std::optional<T> value_;
  Failure failure_{};
  bool waits_ = false;
};

}  // namespace ferry
