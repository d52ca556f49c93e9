// FakePipe: the body of queue::ControlLink on a FakeFabric.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include <ferry/queue/control.hpp>

#include "fake_fabric.hpp"

namespace ferry::test {

// A control link: two directions of messages, each in order, which the test can hold.
class FakePipe : public std::enable_shared_from_this<FakePipe> {
 public:
  enum Side : std::size_t { initiator = 0, owner = 1 };

  explicit FakePipe(FakeFabric& fabric) : fabric_(fabric), lines_{fabric.new_line(), fabric.new_line()} {}

  std::unique_ptr<queue::ControlLink> end(Side side, queue::ControlEvents& events, ProcessId peer) {
    const std::lock_guard lock(fabric_.mutex);
    events_[side] = &events;
    return std::make_unique<Link>(shared_from_this(), side, peer);
  }
  void announce_open() {
    fabric_.schedule(lines_[owner], [self = shared_from_this()] {
      self->told_[initiator].tell(self->fabric_, [&] { self->events_[initiator]->on_control_open(); });
    });
  }
  // Nothing sent by this side arrives meanwhile.
  void hold(Side side) {
    const std::lock_guard lock(fabric_.mutex);
    held_[side] = true;
  }
  void release(Side side) {
    const std::lock_guard lock(fabric_.mutex);
    held_[side] = false;
    for (std::size_t count = queue_[side].size(); count > 0; --count) {
      schedule(side);
    }
  }
  std::size_t waiting(Side side) const { return queue_[side].size(); }
  void inject(Side side, wire::Bytes message) { send(side, std::move(message)); }
  // Only the initiator learns that the wire was cut.
  void cut_initiator(const Failure& why) {
    const std::lock_guard lock(fabric_.mutex);
    is_cut_ = true;
    tell_closed(initiator, why, PeerState::unknown);
    tells_owner_ = false;
  }
  // The wire is cut: both sides learn it.
  void cut(const Failure& why, PeerState state) {
    const std::lock_guard lock(fabric_.mutex);
    is_cut_ = true;
    for (const Side side : {initiator, owner}) {
      tell_closed(side, why, state);
    }
  }

 private:
  class Link final : public queue::ControlLink {
   public:
    Link(std::shared_ptr<FakePipe> pipe, Side side, ProcessId peer)
        : pipe_(std::move(pipe)), side_(side), peer_(peer) {}
    ~Link() override { close(Failure(errc::shut_down, "gone")); }
    ProcessId peer() const noexcept override { return peer_; }
    bool send(wire::Bytes&& message) noexcept override {
      const std::lock_guard lock(pipe_->fabric_.mutex);
      return !pipe_->told_[side_].is_gone() && pipe_->send(side_, std::move(message));
    }
    void close(const Failure& why) noexcept override {
      if (pipe_->told_[side_].take_away(pipe_->fabric_)) {
        pipe_->tell_closed(side_ == initiator ? owner : initiator, why, PeerState::unknown);
      }
    }

   private:
    std::shared_ptr<FakePipe> pipe_;
    Side side_;
    ProcessId peer_;
  };

  bool send(Side from, wire::Bytes message) {
    const std::lock_guard lock(fabric_.mutex);
    queue_[from].push_back(std::move(message));
    schedule(from);
    return true;
  }
  void schedule(Side from) {
    fabric_.schedule(lines_[from], [self = shared_from_this(), from] {
      const Side to = from == initiator ? owner : initiator;
      wire::Bytes message;
      {
        const std::lock_guard lock(self->fabric_.mutex);
        if (self->is_cut_ || self->held_[from] || self->queue_[from].empty()) {
          return;
        }
        message = std::move(self->queue_[from].front());
        self->queue_[from].pop_front();
        if (self->events_[to] == nullptr) {
          return;
        }
      }
      self->told_[to].tell(self->fabric_, [&] { self->events_[to]->on_control(std::move(message)); });
    });
  }
  // Behind what is under way to it.
  void tell_closed(Side side, const Failure& why, PeerState state) {
    if (events_[side] == nullptr || (side == owner && !tells_owner_)) {
      return;
    }
    fabric_.schedule(lines_[side == initiator ? owner : initiator], [self = shared_from_this(), side, why, state] {
      self->told_[side].tell(self->fabric_, [&] {
        self->told_[side].take_away(self->fabric_);
        self->events_[side]->on_control_closed(why, state);
      });
    });
  }

  FakeFabric& fabric_;
  FakeFabric::Line lines_[2];  // by the side that sends
  queue::ControlEvents* events_[2] = {};
  Told told_[2];
  std::deque<wire::Bytes> queue_[2];
  bool held_[2] = {};
  bool is_cut_ = false;
  bool tells_owner_ = true;
};

}  // namespace ferry::test
