#include <ferry/system/event_loop.hpp>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include <ferry/base/check.hpp>
#include <ferry/system/system_error.hpp>

namespace ferry::system {
namespace {

// Ids that stand for the loop's own descriptors. Both are edge-triggered, and so never read: each write of the
// eventfd and each expiry tells once.
constexpr std::uint64_t kKick = 0;
constexpr std::uint64_t kAlarm = 1;

bool add_edge(int epoll, int descriptor, std::uint64_t id) noexcept {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  event.data.u64 = id;
  return ::epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0;
}

void count(std::atomic<std::uint64_t>& counter) noexcept {
  counter.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

Result<std::unique_ptr<EventLoop>> EventLoop::create() {
  std::unique_ptr<EventLoop> loop(new EventLoop);
  loop->epoll_ = FileDescriptor(::epoll_create1(EPOLL_CLOEXEC));
  loop->kick_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  loop->timer_ = FileDescriptor(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!loop->epoll_ || !loop->kick_ || !loop->timer_ || !add_edge(loop->epoll_.get(), loop->kick_.get(), kKick) ||
      !add_edge(loop->epoll_.get(), loop->timer_.get(), kAlarm)) {
    return system_failure(errno, "setting up the event loop");
  }
  return loop;
}

bool EventLoop::arm(int descriptor, std::uint64_t id, bool write, bool known) noexcept {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT | (write ? EPOLLOUT : EPOLL_EVENTS{});
  event.data.u64 = id;
  count(counts_.arms);
  return ::epoll_ctl(epoll_.get(), known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, descriptor, &event) == 0;
}

void EventLoop::forget(int descriptor) noexcept {
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
}

void EventLoop::kick() noexcept {
  count(counts_.kicks);
  const std::uint64_t one = 1;
  // It can fail only when the count is full, and then it has been readable for 2^64 kicks.
  [[maybe_unused]] const ssize_t written = ::write(kick_.get(), &one, sizeof one);
}

void EventLoop::set_alarm(TimePoint due) noexcept {
  const Duration::rep at = due.time_since_epoch().count();
  if (alarm_.load(std::memory_order_seq_cst) <= at) {
    return;
  }
  const std::lock_guard lock(alarm_mutex_);
  if (alarm_.load(std::memory_order_relaxed) <= at) {
    return;
  }
  itimerspec spec{};
  const Duration::rep positive = at > 0 ? at : 1;  // zero would disarm
  spec.it_value.tv_sec = positive / 1'000'000'000;
  spec.it_value.tv_nsec = positive % 1'000'000'000;
  alarm_.store(at, std::memory_order_seq_cst);
  count(counts_.alarms);
  ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &spec, nullptr);
}

void EventLoop::wait(bool block, Woken& woken) noexcept {
  std::array<epoll_event, kEvents> events;
  count(counts_.waits);
  const int ready = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), block ? -1 : 0);
  FERRY_CHECK(ready >= 0 || errno == EINTR);
  woken.count = 0;
  woken.kicked = false;
  woken.alarm = false;
  for (int i = 0; i < ready; ++i) {
    const std::uint64_t id = events[static_cast<std::size_t>(i)].data.u64;
    if (id == kKick) {
      woken.kicked = true;
    } else if (id == kAlarm) {
      woken.alarm = true;
    } else {
      woken.ids[woken.count++] = id;
    }
  }
  if (woken.alarm) {
    // What it was set for has passed; whoever sleeps next sets it anew.
    const std::lock_guard lock(alarm_mutex_);
    itimerspec left{};
    ::timerfd_gettime(timer_.get(), &left);
    if (left.it_value.tv_sec == 0 && left.it_value.tv_nsec == 0) {
      alarm_.store(kNever.time_since_epoch().count(), std::memory_order_seq_cst);
    }
  }
}

}  // namespace ferry::system
