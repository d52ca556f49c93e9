// What is sent on the queue pair, and received. Everything here runs under the lock.
#include <ferry/queue/message_link.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <ferry/queue/queue_limits.hpp>

namespace ferry::queue {

std::size_t MessageLink::credits() const noexcept {
  return receives_there_ - static_cast<std::size_t>(sent_ - returned_);
}

void MessageLink::be_ready() noexcept {
  if (state_ != State::ready) {
    state_ = State::ready;
    first_number_ = next_number_;
  }
}

// Frames that come before one that takes longer, on the other way or where Sends pass each other, fill the other end's
// memory.
bool MessageLink::has_room_there() const noexcept {
  return next_number_ - std::max(first_number_, acknowledged_ + 1) < kMessageReceives;
}

FrameReceipt MessageLink::receipt() noexcept {
  told_ = received_;
  told_taken_ = assembler_.taken();
  return {assembler_.taken(), static_cast<std::uint32_t>(received_)};
}

void MessageLink::pump() {
  while (state_ == State::ready && !waiting_.empty() && has_room_there()) {
    const wire::Bytes& message = waiting_.front();
    if (message.size() > kMessageSends * (kMessageSlotBytes - kFrameHeader)) {  // a stream is the better way for it
      beneath_->send(encode_beneath(MessageFrame{next_number_++, true, true, {message.data(), message.size()}}));
      waiting_.pop_front();
      continue;
    }
    if (credits() <= kReceiptReceives || !queue_.sends->has_free()) {
      return;
    }
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
  request.signaled =
      !completes_in_order() || ++silent_ >= std::min<std::size_t>(kSignaledEvery, queue_.sends->slots() / 2);
  silent_ = request.signaled ? 0 : silent_;
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

// Said in passing as long as there is something to say; else before the other end runs out of credits, or of slots.
void MessageLink::acknowledge() {
  if (state_ != State::ready) {
    return;
  }
  // A receipt alone never causes another one: two ends would go on for ever.
  const std::size_t frames = std::max<std::size_t>(1, std::min(queue_.receives->slots(), sends_there_) / 2);
  const std::size_t receives = queue_.receives->slots() / 2;
  if (received_ - told_ < receives && assembler_.taken() - told_taken_ < frames) {
    return;
  }
  if (credits() > 0 && queue_.sends->has_free()) {
    static_cast<void>(post(MessageFrame{}));
  } else {
    beneath_->send(encode_beneath(LinkReceipt{life_, receipt()}));
  }
}

}  // namespace ferry::queue
