// How queue pairs come and go, and what is said of it on the link beneath. Everything here runs under the lock.
#include <ferry/queue/message_link.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <ferry/queue/queue_limits.hpp>

namespace ferry::queue {

Result<void> MessageLink::take(Beneath kind, wire::ByteView body, Queue& retired) {
  switch (kind) {
    case Beneath::frame: {
      const auto frame = decode_frame(body);
      auto taken = frame ? assembler_.take(*frame) : frame.error();
      acknowledge();  // Sends may have been waiting for it
      offer_first_queue();
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
      take_offer(*offer);
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
  if (options.receives < kLeastMessageReceives) {
    return Failure(errc::resource_exhausted, fmt::format("the device takes {} receives of a queue pair; {} are needed",
                                                         options.receives, kLeastMessageReceives));
  }
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
  if (auto posted = post_receives(*queue.pair, *queue.receives); !posted) {
    return posted.error();
  }
  return queue;
}

// By then this link is likely to carry many.
void MessageLink::offer_first_queue() {
  if (side_ == Side::initiator && state_ == State::none && life_ == 0 && !is_refused_ &&
      next_number_ - 1 + assembler_.taken() >= few_) {
    offer_queue();
  }
}

void MessageLink::take_offer(const QueueOffer& offer) noexcept {
  receives_there_ = offer.receives;
  sends_there_ = offer.sends;
}

QueueOffer MessageLink::own_offer() const {
  return {life_, static_cast<std::uint32_t>(queue_.receives->slots()),
          static_cast<std::uint32_t>(queue_.sends->slots()), queue_.pair->address()};
}

// A new life begins: nothing is posted, every receive is.
void MessageLink::begin_life(std::uint32_t life, Queue&& queue) noexcept {
  queue_ = std::move(queue);
  life_ = life;
  state_ = State::offered;
  sent_ = returned_ = received_ = told_ = first_posted_ = 0;
  silent_ = 0;
  told_taken_ = assembler_.taken();
}

void MessageLink::note_stay(const Failure& why) const {
  note(fmt::format("they stay on the control connection: {}", why.to_text()));
}

void MessageLink::offer_queue() {
  auto queue = make_queue();
  if (!queue) {
    note_stay(queue.error());
    is_refused_ = true;
    return;
  }
  begin_life(life_ + 1, std::move(*queue));
  beneath_->send(encode_beneath(Beneath::open, own_offer()));
}

void MessageLink::answer_offer(const QueueOffer& offer) {
  auto queue = make_queue();
  Result<void> connected = queue ? queue->pair->connect({offer.address.data(), offer.address.size()}) : queue.error();
  if (!connected) {
    life_ = offer.life;
    note_stay(connected.error());
    beneath_->send(encode_beneath(Beneath::none, life_));
    return;
  }
  begin_life(offer.life, std::move(*queue));
  take_offer(offer);
  beneath_->send(encode_beneath(Beneath::ready, own_offer()));
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

}  // namespace ferry::queue
