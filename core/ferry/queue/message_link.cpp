// How a link is made and ends, and who is told what.
#include <ferry/queue/message_link.hpp>

#include <utility>

#include <fmt/format.h>

#include <ferry/queue/inside.hpp>
#include <ferry/queue/queue_limits.hpp>

namespace ferry::queue {
MessageLink::MessageLink(NodeCore& node, Device& device, ControlEvents& events, Side side, std::uint64_t few)
    : node_(node),
      device_(device),
      events_(events),
      side_(side),
      few_(few),
      assembler_(node.limits().frame_bytes + kCommandBytes, kMessageReceives) {}

MessageLink::~MessageLink() {
  close(Failure(errc::shut_down, "the link's owner is gone"));
}

std::unique_ptr<ControlLink> MessageLink::dial(NodeCore& node, Device& device, ControlEvents& events,
                                               const MakeBeneath& make, std::uint64_t few) {
  std::unique_ptr<MessageLink> link(new MessageLink(node, device, events, Side::initiator, few));
  link->beneath_ = make(*link);
  return link;
}

std::unique_ptr<ControlLink> MessageLink::accept(NodeCore& node, Device& device, ControlEvents& events,
                                                 const MakeBeneath& make) {
  std::unique_ptr<MessageLink> link(new MessageLink(node, device, events, Side::owner, 0));
  link->beneath_ = make(*link);
  return link;
}

std::unique_ptr<ControlLink> MessageDialer::dial(ControlEvents& events) noexcept {
  return MessageLink::dial(
      node_, device_, events, [this](ControlEvents& told) { return beneath_->dial(told); }, few_);
}

bool MessageLink::send(wire::Bytes&& message) noexcept {
  const std::lock_guard lock(mutex_);
  if (is_closed_ || is_ended_) {
    return false;
  }
  if (state_ == State::ready) {
    waiting_.push_back(std::move(message));
    pump();
    return true;
  }
  const wire::ByteView bytes{message.data(), message.size()};
  const bool is_sent = beneath_->send(encode_beneath(MessageFrame{next_number_++, true, true, bytes}));
  offer_first_queue();
  return is_sent;
}

void MessageLink::close(const Failure& why) noexcept {
  Queue retired;
  {
    std::unique_lock lock(mutex_);
    if (!std::exchange(is_closed_, true)) {
      divert();
      state_ = State::none;
      retired = std::move(queue_);
    }
    if (Inside::depth(this) == 0) {
      changed_.wait(lock, [this] { return !is_delivering_; });
    }
  }
  retired = {};
  beneath_->close(why);
}

void MessageLink::on_control_open() noexcept {
  std::unique_lock lock(mutex_);
  tells_open_ = true;
  deliver(lock);
}

void MessageLink::on_control(wire::Bytes&& message) noexcept {
  Queue retired;  // not destroyed under the lock, nor within its own events
  std::unique_lock lock(mutex_);
  if (is_closed_ || is_ended_) {
    return;
  }
  const Beneath kind = message.empty() ? Beneath{} : static_cast<Beneath>(message[0]);
  const wire::ByteView body = message.empty() ? wire::ByteView{} : wire::ByteView(message).subspan(1);
  if (auto taken = take(kind, body, retired); !taken) {
    break_off(taken.error());
  }
  deliver(lock);
}

void MessageLink::on_control_closed(const Failure& why, PeerState state) noexcept {
  std::unique_lock lock(mutex_);
  if (is_closed_ || std::exchange(is_ended_, true)) {
    return;
  }
  end_.emplace(why, state);
  deliver(lock);
}

void MessageLink::on_completion(QueuePair& queue, const WorkCompletion& completion) noexcept {
  std::unique_lock lock(mutex_);
  if (is_closed_ || is_ended_ || queue_.pair.get() != &queue || state_ == State::lost) {
    return;
  }
  if (completion.status != WorkStatus::success) {
    lose_queue(Failure(errc::peer_lost, fmt::format("a {} failed: {} (the device's code: {})",
                                                    completion.is_receive ? "receive" : "Send",
                                                    to_string(completion.status), completion.vendor_code)));
  } else if (!completion.is_receive) {
    take_completion(completion.id);
    pump();
  } else if (auto taken = take_sent(completion); !taken) {
    break_off(taken.error());
  }
  deliver(lock);
}

void MessageLink::on_queue_lost(QueuePair& queue, const Failure& why) noexcept {
  std::unique_lock lock(mutex_);
  if (!is_closed_ && !is_ended_ && queue_.pair.get() == &queue && state_ != State::lost) {
    lose_queue(why);
  }
}

// Whoever comes first tells everything, also what others bring meanwhile.
void MessageLink::deliver(std::unique_lock<std::mutex>& lock) noexcept {
  if (is_delivering_) {
    return;
  }
  is_delivering_ = true;
  const Inside inside(this);
  while (!is_closed_ && (tells_open_ || assembler_.has_message() || end_)) {
    if (std::exchange(tells_open_, false)) {
      lock.unlock();
      events_.on_control_open();
    } else if (assembler_.has_message()) {
      wire::Bytes message = assembler_.pop();
      lock.unlock();
      events_.on_control(std::move(message));
    } else {
      const auto end = *std::exchange(end_, std::nullopt);
      lock.unlock();
      events_.on_control_closed(end.first, end.second);
    }
    lock.lock();
  }
  is_delivering_ = false;
  changed_.notify_all();
}

// The other end does what it must not, or more than there is room for.
void MessageLink::break_off(const Failure& why) {
  is_ended_ = true;
  end_.emplace(why, PeerState::unknown);
}

void MessageLink::note(const std::string& what) const {
  node_.log().write(LogLevel::info, fmt::format("messages with process {}: {}", to_string(beneath_->peer()), what));
}

}  // namespace ferry::queue
