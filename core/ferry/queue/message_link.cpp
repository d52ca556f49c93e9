#include <ferry/queue/message_link.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <ferry/queue/queue_limits.hpp>

namespace ferry::queue {

MessageLink::MessageLink(NodeCore& node, Device& device, ControlEvents& events, Side side)
    : node_(node),
      device_(device),
      events_(events),
      side_(side),
      assembler_(node.limits().frame_bytes + kCommandBytes, kMessageReceives) {}

MessageLink::~MessageLink() {
  close(Failure(errc::shut_down, "the link's owner is gone"));
}

std::unique_ptr<ControlLink> MessageLink::dial(NodeCore& node, Device& device, ControlEvents& events,
                                               const MakeBeneath& make) {
  std::unique_ptr<MessageLink> link(new MessageLink(node, device, events, Side::initiator));
  link->beneath_ = make(*link);
  return link;
}

std::unique_ptr<ControlLink> MessageLink::accept(NodeCore& node, Device& device, ControlEvents& events,
                                                 const MakeBeneath& make) {
  std::unique_ptr<MessageLink> link(new MessageLink(node, device, events, Side::owner));
  link->beneath_ = make(*link);
  return link;
}

std::unique_ptr<ControlLink> MessageDialer::dial(ControlEvents& events) noexcept {
  return MessageLink::dial(node_, device_, events, [this](ControlEvents& told) { return beneath_->dial(told); });
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
  const bool is_first = next_number_ == 1;
  const wire::ByteView bytes{message.data(), message.size()};
  const bool is_sent = beneath_->send(encode_beneath(MessageFrame{next_number_++, true, true, bytes}));
  if (is_first && side_ == Side::initiator) {
    offer_queue();
  }
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
    if (deliverer_ != std::this_thread::get_id()) {
      changed_.wait(lock, [this] { return !is_delivering_; });
    }
  }
  retired = {};
  beneath_->close(why);
}

// --- Events.

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
  deliverer_ = std::this_thread::get_id();
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
  deliverer_ = {};
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

// --- The link beneath.

Result<void> MessageLink::take(Beneath kind, wire::ByteView body, Queue& retired) {
  switch (kind) {
    case Beneath::frame: {
      const auto frame = decode_frame(body);
      auto taken = frame ? assembler_.take(*frame) : frame.error();
      acknowledge();  // Sends may have been waiting for it
      return taken;
    }
    case Beneath::open: {
      const auto offer = decode_offer(body);
      if (!offer) {
        return offer.error();
      }
      if (side_ != Side::owner || state_ != State::none || offer->life <= life_) {
        return Failure(errc::malformed, fmt::format("queue pair {} for messages was offered out of turn", offer->life));
      }
      answer_offer(*offer);
      return {};
    }
    case Beneath::ready: {
      const auto offer = decode_offer(body);
      if (!offer) {
        return offer.error();
      }
      if (side_ != Side::initiator || offer->life != life_ || state_ == State::ready) {
        return Failure(errc::malformed, fmt::format("queue pair {} for messages was not asked for", offer->life));
      }
      if (state_ != State::offered) {
        return {};  // lost meanwhile
      }
      if (auto connected = queue_.pair->connect({offer->address.data(), offer->address.size()}); !connected) {
        lose_queue(connected.error());
        return {};
      }
      be_ready();
      receives_there_ = offer->receives;
      static_cast<void>(post(MessageFrame{}));  // by which the owner knows that this end receives
      return {};
    }
    case Beneath::none: {
      const auto life = decode_life(body);
      if (!life) {
        return life.error();
      }
      if (side_ == Side::initiator && *life == life_ && state_ == State::offered) {
        note("the other end has no queue pair for them; they stay on the control connection");
        state_ = State::none;
        retired = std::move(queue_);
      }
      return {};
    }
    case Beneath::lost: {
      const auto life = decode_life(body);
      if (!life) {
        return life.error();
      }
      if (*life != life_ || state_ == State::none) {
        return {};
      }
      if (state_ != State::lost) {
        lose_queue(Failure(errc::peer_lost, "the other end has lost it"));
      }
      retired = std::move(queue_);
      state_ = State::none;
      if (side_ == Side::initiator && life_ < kMessageLives) {
        offer_queue();
      }
      return {};
    }
    case Beneath::received: {
      const auto received = decode_receipt(body);
      if (!received) {
        return received.error();
      }
      return received->life == life_ && state_ == State::ready ? take_receipt(received->receipt) : Result<void>{};
    }
  }
  return Failure(errc::malformed, fmt::format("a frame of messages expected, found kind {}", static_cast<int>(kind)));
}

Result<MessageLink::Queue> MessageLink::make_queue() {
  const DeviceLimits& limits = device_.limits();
  QueuePairOptions options;
  options.requests = std::min(kMessageSlots, limits.requests);
  options.receives = std::min(kMessageReceives, limits.receives);
  Queue queue;
  for (const auto& [staging, slots] :
       {std::pair{&queue.sends, options.requests}, std::pair{&queue.receives, options.receives}}) {
    auto made = Staging::create(device_, slots, kMessageSlotBytes);
    if (!made) {
      return made.error();
    }
    *staging = std::move(*made);
  }
  auto pair = device_.create_queue_pair(options, *this);
  if (!pair) {
    return pair.error();
  }
  queue.pair = std::move(*pair);
  for (std::uint16_t slot = 0; slot < options.receives; ++slot) {
    if (auto posted =
            queue.pair->post_receive(slot, queue.receives->at(slot), kMessageSlotBytes, queue.receives->key());
        !posted) {
      return posted.error();
    }
  }
  return queue;
}

// A new life begins: nothing is posted, every receive is.
void MessageLink::offer_queue() {
  auto queue = make_queue();
  if (!queue) {
    note(fmt::format("they stay on the control connection: {}", queue.error().to_text()));
    return;
  }
  queue_ = std::move(*queue);
  ++life_;
  state_ = State::offered;
  sent_ = returned_ = received_ = told_ = first_posted_ = 0;
  told_taken_ = assembler_.taken();
  beneath_->send(encode_beneath(
      Beneath::open, QueueOffer{life_, static_cast<std::uint32_t>(queue_.receives->slots()), queue_.pair->address()}));
}

void MessageLink::answer_offer(const QueueOffer& offer) {
  life_ = offer.life;
  state_ = State::none;
  auto queue = make_queue();
  Result<void> connected = queue ? queue->pair->connect({offer.address.data(), offer.address.size()}) : queue.error();
  if (!connected) {
    note(fmt::format("they stay on the control connection: {}", connected.error().to_text()));
    beneath_->send(encode_beneath(Beneath::none, life_));
    return;
  }
  queue_ = std::move(*queue);
  state_ = State::offered;
  receives_there_ = offer.receives;
  sent_ = returned_ = received_ = told_ = first_posted_ = 0;
  told_taken_ = assembler_.taken();
  beneath_->send(encode_beneath(
      Beneath::ready, QueueOffer{life_, static_cast<std::uint32_t>(queue_.receives->slots()), queue_.pair->address()}));
}

// What it carried goes on beneath. It is destroyed when the other end has let go of it, too.
void MessageLink::lose_queue(const Failure& why) {
  note(fmt::format("their queue pair failed and is built anew: {}", why.to_text()));
  queue_.pair->stop();
  beneath_->send(encode_beneath(Beneath::lost, life_));
  divert();
  state_ = State::lost;
}

// Whatever is not known to have arrived leaves on the link beneath, in order.
void MessageLink::divert() {
  for (const Posted& each : posted_) {
    if (each.number > acknowledged_) {
      const std::byte* const bytes = queue_.sends->at(each.slot) + kFrameHeader;
      beneath_->send(
          encode_beneath(MessageFrame{each.number, each.is_first, each.is_last, wire::ByteView(bytes, each.length)}));
    }
  }
  posted_.clear();
  while (!waiting_.empty()) {
    const wire::ByteView rest = wire::ByteView(waiting_.front()).subspan(offset_);
    beneath_->send(encode_beneath(MessageFrame{next_number_++, offset_ == 0, true, rest}));
    waiting_.pop_front();
    offset_ = 0;
  }
}

// --- The queue pair.

std::size_t MessageLink::credits() const noexcept {
  return receives_there_ - static_cast<std::size_t>(sent_ - returned_);
}

void MessageLink::be_ready() noexcept {
  if (state_ != State::ready) {
    state_ = State::ready;
    first_number_ = next_number_;
  }
}

// Where Sends pass each other, frames that came too early fill the other end's memory until the missing one comes.
bool MessageLink::has_room_there() const noexcept {
  return credits() > kReceiptReceives && next_number_ - std::max(first_number_, acknowledged_ + 1) < kMessageReceives;
}

FrameReceipt MessageLink::receipt() noexcept {
  told_ = received_;
  told_taken_ = assembler_.taken();
  return {assembler_.taken(), static_cast<std::uint32_t>(received_)};
}

void MessageLink::pump() {
  while (state_ == State::ready && !waiting_.empty() && has_room_there() && queue_.sends->has_free()) {
    const wire::Bytes& message = waiting_.front();
    const wire::ByteView rest = wire::ByteView(message).subspan(offset_);
    const wire::ByteView part = rest.first(std::min(rest.size(), kMessageSlotBytes - kFrameHeader));
    const bool is_last = part.size() == rest.size();
    if (!post(MessageFrame{next_number_, offset_ == 0, is_last, part})) {
      return;
    }
    ++next_number_;
    offset_ += part.size();
    if (is_last) {
      waiting_.pop_front();
      offset_ = 0;
    }
  }
}

// False: the queue pair is lost, and the frame has not left.
bool MessageLink::post(const MessageFrame& frame) {
  const std::uint16_t slot = queue_.sends->take();
  std::byte* const at = queue_.sends->at(slot);
  encode_header(at, frame, receipt());
  std::copy(frame.bytes.begin(), frame.bytes.end(), at + kFrameHeader);
  WorkRequest request;
  request.id = sent_;
  request.verb = Verb::send;
  request.signaled = !completes_in_order() || sent_ % kSignaledEvery == kSignaledEvery - 1;
  request.local = at;
  request.local_key = queue_.sends->key();
  request.length = kFrameHeader + frame.bytes.size();
  if (auto posted = queue_.pair->post({&request, 1}); !posted) {
    lose_queue(posted.error());
    return false;
  }
  ++sent_;
  posted_.push_back({frame.number, frame.is_first, frame.is_last, slot, frame.bytes.size()});
  return true;
}

// All before it have completed as well, where requests do so in order.
void MessageLink::take_completion(std::uint64_t id) {
  if (id < first_posted_ || id - first_posted_ >= posted_.size()) {
    return;
  }
  const auto index = static_cast<std::size_t>(id - first_posted_);
  for (std::size_t each = completes_in_order() ? 0 : index; each <= index; ++each) {
    posted_[each].is_complete = true;
  }
  free_slots();
}

void MessageLink::free_slots() {
  while (!posted_.empty() && posted_.front().is_complete && posted_.front().number <= acknowledged_) {
    queue_.sends->give_back(posted_.front().slot);
    posted_.pop_front();
    ++first_posted_;
  }
}

Result<void> MessageLink::take_receipt(const FrameReceipt& receipt) {
  if (receipt.acknowledged >= next_number_) {
    return Failure(errc::malformed, fmt::format("frame {} of messages was acknowledged, and {} is the next to be sent",
                                                receipt.acknowledged, next_number_));
  }
  const std::uint32_t more = receipt.received - static_cast<std::uint32_t>(returned_);
  if (static_cast<std::int32_t>(more) > 0) {  // else it is an older one that was late
    if (more > sent_ - returned_) {
      return Failure(errc::malformed, fmt::format("{} receives of messages were used where {} Sends could have",
                                                  returned_ + more, sent_));
    }
    returned_ += more;
  }
  acknowledged_ = std::max(acknowledged_, receipt.acknowledged);
  free_slots();
  pump();
  return {};
}

Result<void> MessageLink::take_sent(const WorkCompletion& completion) {
  const auto slot = static_cast<std::uint16_t>(completion.id);
  if (completion.has_immediate || completion.length > kMessageSlotBytes) {
    return Failure(errc::malformed, "no frame of messages arrived");
  }
  be_ready();
  const auto sent = decode_sent({queue_.receives->at(slot), static_cast<std::size_t>(completion.length)});
  if (!sent) {
    return sent.error();
  }
  if (auto taken = assembler_.take(sent->frame); !taken) {
    return taken;
  }
  ++received_;
  if (auto posted =
          queue_.pair->post_receive(slot, queue_.receives->at(slot), kMessageSlotBytes, queue_.receives->key());
      !posted) {
    lose_queue(posted.error());
    return {};
  }
  if (auto taken = take_receipt(sent->receipt); !taken) {
    return taken;
  }
  acknowledge();
  return {};
}

// Said in passing as long as there is something to say; else before the other end runs out of credits.
void MessageLink::acknowledge() {
  if (state_ != State::ready) {
    return;
  }
  const std::size_t half = queue_.receives->slots() / 2;
  if (received_ - told_ < half && assembler_.taken() - told_taken_ < half) {
    return;
  }
  if (credits() > 0 && queue_.sends->has_free()) {
    static_cast<void>(post(MessageFrame{}));
  } else {
    beneath_->send(encode_beneath(LinkReceipt{life_, receipt()}));
  }
}

}  // namespace ferry::queue
