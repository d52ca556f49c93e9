#include <ferry/actor/window.hpp>

#include <algorithm>

#include <ferry/base/buggify.hpp>
#include <ferry/base/limits.hpp>

namespace ferry {

bool Window::has_room(std::size_t bytes) const noexcept {
  // No narrower: the actor tells of what it took when it is that many messages.
  const bool is_narrow = messages_ >= limits::kCreditMessages && buggify("narrow window");
  return messages_ < limits::kWindowMessages && !is_narrow &&
         (bytes_ < limits::kCreditBytes || bytes <= limits::kWindowBytes - std::min(bytes_, limits::kWindowBytes));
}

void Window::take(std::size_t bytes) noexcept {
  ++messages_;
  bytes_ += bytes;
}

bool Window::try_take(std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  if (is_serving_ || !queue_.empty() || !has_room(bytes)) {
    return false;
  }
  take(bytes);
  return true;
}

void Window::take_anyway(std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  take(bytes);
}

bool Window::take_or_wait(WindowWaiter& waiter) noexcept {
  std::unique_lock lock(mutex_);
  if (!is_serving_ && queue_.empty() && has_room(waiter.window_bytes)) {
    take(waiter.window_bytes);
    return true;
  }
  queue_.push_back(waiter);
  sometimes("a message waits for room in a mailbox", true);
  return false;
}

bool Window::leave(WindowWaiter& waiter) noexcept {
  std::unique_lock lock(mutex_);
  if (!waiter.window_hook.is_linked()) {
    return false;
  }
  queue_.erase(queue_.iterator_to(waiter));
  serve(std::move(lock));  // a large one may have stood before small ones that fit
  return true;
}

void Window::give_back(std::size_t messages, std::size_t bytes) noexcept {
  std::unique_lock lock(mutex_);
  messages_ -= std::min(messages_, messages);
  bytes_ -= std::min(bytes_, bytes);
  serve(std::move(lock));
}

std::size_t Window::waiting() noexcept {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

void Window::reset() noexcept {
  std::unique_lock lock(mutex_);
  messages_ = 0;
  bytes_ = 0;
  serve(std::move(lock));
}

// One thread at a time, so that messages leave in the order in which they waited; it sees the room that others give.
void Window::serve(std::unique_lock<std::mutex> lock) noexcept {
  if (is_serving_) {
    return;
  }
  is_serving_ = true;
  while (!queue_.empty() && has_room(queue_.front().window_bytes)) {
    WindowWaiter& waiter = queue_.front();
    queue_.pop_front();
    take(waiter.window_bytes);
    lock.unlock();
    waiter.on_room();
    lock.lock();
  }
  is_serving_ = false;
}

}  // namespace ferry
