// Channel<T>: a bounded queue from any thread to one awaiting task. Streams of notifications and events are made of it.
//
// A handle: copies share the queue, and an await keeps it, whatever becomes of the handles. try_push() never waits: a
// full channel says so. next() gives values in the order of pushing; after close(), what is left, and then throws. One
// next() at a time. A value that was on its way to an await that is dropped is not lost: the next one gets it.
#pragma once

#include <coroutine>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <ferry/base/result.hpp>
#include <ferry/base/waiter.hpp>

namespace ferry {

template <class T>
class Channel {
 public:
  explicit Channel(std::size_t capacity) : queue_(std::make_shared<Queue>(capacity)) {}

  // False: full, or closed.
  bool try_push(T value) {
    const std::lock_guard lock(queue_->mutex);
    if (queue_->closed || (queue_->next == nullptr && queue_->values.size() >= queue_->capacity)) {
      return false;
    }
    if (!queue_->hand_over(value)) {
      queue_->values.push_back(std::move(value));
    }
    return true;
  }

  // Somebody waits for the next value.
  bool is_awaited() const {
    const std::lock_guard lock(queue_->mutex);
    return queue_->next != nullptr;
  }

  std::optional<T> try_pop() {
    const std::lock_guard lock(queue_->mutex);
    return queue_->take();
  }

  // Nothing is pushed any more; a next() that finds nothing left throws Error(why). The first reason counts.
  void close(const Failure& why) {
    const std::lock_guard lock(queue_->mutex);
    if (!queue_->closed) {
      queue_->closed = why;
      if (queue_->next != nullptr) {
        std::exchange(queue_->next, nullptr)->wake();
      }
    }
  }

  class Next;
  // Waits for a value. Throws Error: timed_out, cancelled, or what the channel was closed with.
  Next next(const Limits& limits = {}) const { return Next(queue_, limits); }

 private:
  // All but capacity: under the mutex.
  struct Queue {
    explicit Queue(std::size_t bound) : capacity(bound) {}

    // To who waits, if anybody does.
    bool hand_over(T& value) {
      if (next == nullptr) {
        return false;
      }
      Next& waiting = *std::exchange(next, nullptr);
      waiting.value_.emplace(std::move(value));
      waiting.wake();
      return true;
    }
    std::optional<T> take() {
      if (values.empty()) {
        return std::nullopt;
      }
      std::optional<T> value(std::move(values.front()));
      values.pop_front();
      return value;
    }

    const std::size_t capacity;
    std::mutex mutex;
    std::deque<T> values;  // empty while somebody waits
    Failure closed{};
    Next* next = nullptr;  // who waits
  };

  std::shared_ptr<Queue> queue_;
};

template <class T>
class [[nodiscard]] Channel<T>::Next final : private Waiter {
 public:
  using value_type = T;

  Next(std::shared_ptr<Queue> queue, const Limits& limits) noexcept
      : Waiter(&give_up), queue_(std::move(queue)), limits_(limits) {}
  Next(const Next& other) noexcept : Waiter(other), queue_(other.queue_), limits_(other.limits_) {}
  ~Next() {
    leave();
    if (value_) {
      const std::lock_guard lock(queue_->mutex);
      if (!queue_->hand_over(*value_)) {
        queue_->values.push_front(std::move(*value_));
      }
    }
  }

  bool await_ready() {
    failure_ = refusal(limits_);
    if (failure_) {
      return true;
    }
    {
      const std::lock_guard lock(queue_->mutex);
      value_ = queue_->take();
    }
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
    const std::lock_guard lock(queue_->mutex);
    if (failure_) {
      wake();  // gave up at once
    } else if ((value_ = queue_->take()) || queue_->closed) {
      wake();
    } else if (queue_->next != nullptr) {
      failure_ = Failure(errc::invalid_argument, "another task already waits for the next value of this stream");
      wake();
    } else {
      queue_->next = this;
    }
  }

  // Afterwards nobody touches this any more.
  void leave() noexcept {
    end();
    if (!std::exchange(waits_, false)) {
      return;
    }
    const std::lock_guard lock(queue_->mutex);
    if (queue_->next == this) {
      queue_->next = nullptr;
    }
    if (!value_ && !failure_) {
      failure_ = queue_->closed;
    }
  }

  static void give_up(Waiter& waiter, errc reason) noexcept { static_cast<Next&>(waiter).end_with(reason); }
  void end_with(errc reason) noexcept {
    const std::lock_guard lock(queue_->mutex);
    if (failure_ || value_) {
      return;
    }
    failure_ = given_up(reason, "no value came within the limit");
    if (queue_->next == this) {
      queue_->next = nullptr;
      wake();
    }
  }

  std::shared_ptr<Queue> queue_;
  Limits limits_;
  std::optional<T> value_;
  Failure failure_{};
  bool waits_ = false;
};

}  // namespace ferry
