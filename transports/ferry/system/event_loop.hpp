// EventLoop: where a thread sleeps: until an armed descriptor is ready, the alarm goes off, or somebody kicks.
//
// One epoll with an eventfd and a timerfd in it. Descriptors are armed one-shot, so that nothing is woken about a
// descriptor that somebody polls anyway. Owner: the executor. One thread waits at a time; everything else: any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>

#include <ferry/base/result.hpp>
#include <ferry/base/time.hpp>
#include <ferry/system/file_descriptor.hpp>

namespace ferry::system {

class EventLoop {
 public:
  static constexpr std::size_t kEvents = 64;  // told by one wait at most; the rest by the next

  static Result<std::unique_ptr<EventLoop>> create();

  // Readable whenever wait() would not block; for a foreign event loop.
  int descriptor() const noexcept { return epoll_.get(); }

  // Tells of the descriptor once when it is readable, or writable where asked. `id` is the caller's, not 0 or 1.
  // False if the system refuses; the descriptor is then not armed.
  bool arm(int descriptor, std::uint64_t id, bool write, bool known) noexcept;
  void forget(int descriptor) noexcept;

  // Makes one wait(), now or next, return. One system call each: callers see to it that somebody sleeps.
  void kick() noexcept;

  // Makes wait() return at `due` or soon after. Earlier alarms stay set: they wake once for nothing.
  void set_alarm(TimePoint due) noexcept;

  struct Woken {
    std::array<std::uint64_t, kEvents> ids;  // of descriptors, which are no longer armed
    std::size_t count = 0;
    bool kicked = false;
    bool alarm = false;
  };
  // Sleeps; with block false only looks.
  void wait(bool block, Woken& woken) noexcept;

  // System calls so far.
  struct Counts {
    std::atomic<std::uint64_t> waits{0};
    std::atomic<std::uint64_t> kicks{0};
    std::atomic<std::uint64_t> arms{0};
    std::atomic<std::uint64_t> alarms{0};
  };
  const Counts& counts() const noexcept { return counts_; }

 private:
  EventLoop() = default;

  FileDescriptor epoll_;
  FileDescriptor kick_;
  FileDescriptor timer_;
  std::mutex alarm_mutex_;
  std::atomic<Duration::rep> alarm_{kNever.time_since_epoch().count()};  // what timer_ is set to
  Counts counts_;
};

}  // namespace ferry::system
