// Actors of one process: one calls another, so many calls at once; several send to one, as fast as its mailbox takes.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <vector>

#include <ferry/ferry.hpp>

#include "samples.hpp"

namespace ferry_bench {

class Callee : public ferry::Actor {
 public:
  explicit Callee(ferry::ActorContext&) {}

  // thread: the caller's.
  std::int64_t answer(std::int64_t thread) {
    crossed_ += thread == this_thread() ? 0U : 1U;
    return thread;
  }
  // Calls that ran on another thread than their caller's.
  std::uint64_t crossed() { return crossed_; }

  static std::int32_t this_thread() noexcept {
    thread_local const std::int32_t id = ::gettid();
    return id;
  }
  static constexpr auto endpoints = ferry::endpoints<&Callee::answer, &Callee::crossed>;

 private:
  std::uint64_t crossed_ = 0;
};

class Caller : public ferry::Actor {
 public:
  explicit Caller(ferry::ActorContext&) {}

  // Nanoseconds per call.
  ferry::Task<double> call_often(ferry::ActorRef<Callee> callee, std::uint64_t count, std::uint64_t depth) {
    const Clock::time_point begin = Clock::now();
    if (depth == 1) {
      auto calling = lane(callee, count);
      co_await calling;
    } else {
      std::vector<ferry::Running<void>> lanes;
      lanes.reserve(depth);
      for (std::uint64_t index = 0; index < depth; ++index) {
        lanes.push_back(ferry::start(lane(callee, count / depth)));
      }
      for (ferry::Running<void>& running : lanes) {
        co_await running;
      }
    }
    co_return nanoseconds_each(begin, static_cast<double>(count / depth * depth));
  }
  static constexpr auto endpoints = ferry::endpoints<&Caller::call_often>;

 private:
  static ferry::Task<void> lane(ferry::ActorRef<Callee> callee, std::uint64_t count) {
    for (std::uint64_t index = 0; index < count; ++index) {
      co_await callee.call<&Callee::answer>(Callee::this_thread());
    }
  }
};

class Drain : public ferry::Actor {
 public:
  explicit Drain(ferry::ActorContext&) {}
  void take(std::uint64_t) { ++taken_; }
  std::uint64_t taken() { return taken_; }
  static constexpr auto endpoints = ferry::endpoints<&Drain::take, &Drain::taken>;

 private:
  std::uint64_t taken_ = 0;
};

class Source : public ferry::Actor {
 public:
  explicit Source(ferry::ActorContext&) {}
  // The answer to the call at the end comes behind all that was sent before.
  ferry::Task<void> send_often(ferry::ActorRef<Drain> drain, std::uint64_t count) {
    for (std::uint64_t index = 0; index < count; ++index) {
      co_await drain.send<&Drain::take>(index);
    }
    static_cast<void>(co_await drain.call<&Drain::taken>());
  }
  static constexpr auto endpoints = ferry::endpoints<&Source::send_often>;
};

}  // namespace ferry_bench
