// Held: an actor that can be kept busy until somebody lets it go, so that scenarios know what waits behind it. It is
// let go one-sided, by a notification, which needs nothing of its mailbox. Test code only.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "scenario.hpp"

namespace ferry::conformance {

class Held final : public Actor {
 public:
  explicit Held(ActorContext& context) : word_(1), buffer_(context.register_memory(std::span(word_))) {
    static_cast<void>(buffer_.notifications());
  }

  BufferRef door() const { return buffer_.ref(); }

  // Ends when let_go() was called once for it; gives back `value`.
  Task<std::uint64_t> hold(std::uint64_t value) {
    holding_ = value;
    NotificationStream stream = buffer_.notifications();
    co_await stream.next();
    done_.push_back(value);
    co_return value;
  }
  // The same, unless the caller gives up before.
  Task<std::uint64_t> hold_unless_stopped(std::uint64_t value, StopToken stop) {
    holding_ = value;
    NotificationStream stream = buffer_.notifications();
    auto next = as_result(stream.next({.stop = stop}));
    const auto let_go = co_await next;
    if (!let_go) {
      stopped_.push_back(value);
      throw std::runtime_error("told to stop");
    }
    done_.push_back(value);
    co_return value;
  }
  // What it is, or was last, held by; runs beside it.
  std::uint64_t held_by() { return holding_; }

  std::uint64_t take(std::uint64_t value) {
    taken_.push_back(value);
    return value;
  }
  void take_text(std::uint64_t value, const std::string& text) {
    taken_.push_back(value);
    bytes_ += text.size();
  }
  std::vector<std::uint64_t> taken() const { return taken_; }
  std::vector<std::uint64_t> done() const { return done_; }
  std::vector<std::uint64_t> stopped() const { return stopped_; }
  std::uint64_t bytes() const { return bytes_; }

  static constexpr auto endpoints =
      ferry::endpoints<&Held::door, &Held::hold, &Held::hold_unless_stopped, concurrent<&Held::held_by>, &Held::take,
                       &Held::take_text, &Held::taken, &Held::done, &Held::stopped, &Held::bytes>;

 private:
  std::uint64_t holding_ = 0;
  std::vector<std::uint64_t> taken_;
  std::vector<std::uint64_t> done_;
  std::vector<std::uint64_t> stopped_;
  std::uint64_t bytes_ = 0;
  vector<std::uint64_t> word_;
  RDMABuffer buffer_;
};

inline Task<void> let_go(BufferRef door) {
  const std::array<std::uint64_t, 1> value{1};
  co_await door.write_from(std::span(value), {.notify = 1});
}

// Ends when the actor is inside hold(value).
inline Task<void> until_held(ActorRef<Held> actor, std::uint64_t value, Cluster& cluster) {
  for (;;) {
    const std::uint64_t now = co_await actor.call<&Held::held_by>();
    if (now == value) {
      co_return;
    }
    co_await between_looks(cluster);
  }
}

}  // namespace ferry::conformance
