#include <ferry/actor/window.hpp>

#include <algorithm>

#include <ferry/base/limits.hpp>

namespace ferry {

bool Window::has_room(std::size_t bytes) const noexcept {
  return messages_ < limits::kWindowMessages &&
         (bytes_ == 0 || bytes <= limits::kWindowBytes - std::min(bytes_, limits::kWindowBytes));
}

bool Window::try_take(std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  if (!queue_.empty() || !has_room(bytes)) {
    return false;
  }
  ++messages_;
  bytes_ += bytes;
  return true;
}

bool Window::take_or_wait(WindowWaiter& waiter) noexcept {
  const std::lock_guard lock(mutex_);
  if (queue_.empty() && has_room(waiter.window_bytes)) {
    ++messages_;
    bytes_ += waiter.window_bytes;
    return true;
  }
  queue_.push_back(waiter);
  return false;
}

bool Window::leave(WindowWaiter& waiter) noexcept {
  const std::lock_guard lock(mutex_);
  if (!waiter.window_hook.is_linked()) {
    return false;
  }
  queue_.erase(queue_.iterator_to(waiter));
  return true;
}

void Window::give_back(std::size_t messages, std::size_t bytes) noexcept {
  std::unique_lock lock(mutex_);
  messages_ -= std::min(messages_, messages);
  bytes_ -= std::min(bytes_, bytes);
  serve(std::move(lock));
}

void Window::reset() noexcept {
  std::unique_lock lock(mutex_);
  messages_ = 0;
  bytes_ = 0;
  serve(std::move(lock));
}

void Window::serve(std::unique_lock<std::mutex> lock) noexcept {
  while (!queue_.empty() && has_room(queue_.front().window_bytes)) {
    WindowWaiter& waiter = queue_.front();
    queue_.pop_front();
    ++messages_;
    bytes_ += waiter.window_bytes;
    lock.unlock();
    waiter.on_room();
    lock.lock();
  }
}

}  // namespace ferry
