#include <ferry/sim/sim_channel.hpp>

#include <algorithm>
#include <utility>

#include <ferry/sim/sim_connection.hpp>
#include <ferry/sim/sim_fabric.hpp>
#include <ferry/sim/sim_transport.hpp>
#include <ferry/transport/node_core.hpp>

namespace ferry::sim {

MessageLane::MessageLane(SimChannel& channel, Deliver deliver, ProcessNumber receiver) noexcept
    : channel_(channel), deliver_(deliver), receiver_(receiver), arrival_(this) {}

void MessageLane::push(wire::Bytes&& message) noexcept {
  SimFabric& fabric = channel_.fabric();
  fabric.scheduler().fold(message.size());
  last_due_ =
      std::max(last_due_, saturating_add(fabric.scheduler().now(), fabric.delay(message.size(), channel_.number())));
  queue_.push_back({last_due_, std::move(message)});
  if (size() == 1) {
    schedule_head();
  }
}

void MessageLane::schedule_head() noexcept {
  Scheduler& scheduler = channel_.fabric().scheduler();
  const Duration delay = std::max(queue_[head_].due - scheduler.now(), Duration::zero());
  scheduler.schedule(arrival_, StepKind::message, receiver_, channel_.number(), delay);
}

void MessageLane::arrive(Step& step) noexcept {
  MessageLane& self = *static_cast<Arrival&>(step).lane;
  wire::Bytes message = std::move(self.queue_[self.head_++].bytes);
  if (self.size() == 0) {
    self.queue_.clear();
    self.head_ = 0;
  } else {
    if (self.head_ * 2 > self.queue_.size()) {
      self.queue_.erase(self.queue_.begin(), self.queue_.begin() + static_cast<std::ptrdiff_t>(self.head_));
      self.head_ = 0;
    }
    self.schedule_head();
  }
  self.channel_.fabric().scheduler().fold_data(message);
  (self.channel_.*self.deliver_)(std::move(message));
}

void MessageLane::keep(std::size_t count) noexcept {
  if (count < size()) {
    queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(head_ + count), queue_.end());
  }
  if (size() == 0) {
    channel_.fabric().scheduler().withdraw(arrival_);
  }
}

SimChannel::SimChannel(SimFabric& fabric, std::uint64_t number, SimConnection& initiator, SimTransport& owner)
    : fabric_(fabric),
      number_(number),
      initiator_(&initiator),
      owner_(&owner),
      initiator_process_(initiator.transport_of().process()),
      owner_process_(owner.process()),
      inbound_(std::make_shared<SimInbound>(*this, initiator.self())),
      requests_(*this, &SimChannel::deliver_request, owner_process_),
      answers_(*this, &SimChannel::deliver_answer, initiator_process_),
      owner_news_(&SimChannel::tell_owner, this),
      initiator_news_(&SimChannel::tell_initiator, this) {}

SimChannel::~SimChannel() {
  inbound_->end();
  requests_.clear();
  answers_.clear();
  fabric_.scheduler().withdraw(owner_news_);
  fabric_.scheduler().withdraw(initiator_news_);
}

bool SimChannel::request(wire::Bytes&& message) noexcept {
  if (initiator_ == nullptr) {
    return false;
  }
  requests_.push(std::move(message));
  return true;
}

bool SimChannel::answer(wire::Bytes&& message) noexcept {
  if (owner_ == nullptr) {
    return false;
  }
  answers_.push(std::move(message));
  return true;
}

void SimChannel::deliver_request(wire::Bytes&& message) noexcept {
  if (owner_ == nullptr) {
    return;
  }
  if (MessageSink* sink = owner_->node().sink()) {
    const std::shared_ptr<Inbound> from = inbound_;  // the sink may end the channel
    sink->on_request(from, std::move(message));
  }
}

void SimChannel::deliver_answer(wire::Bytes&& message) noexcept {
  if (initiator_ != nullptr) {
    initiator_->deliver(std::move(message));
  }
}

void SimChannel::lose_initiator(const Failure& why, Duration news, bool killed) noexcept {
  initiator_ = nullptr;
  answers_.clear();
  if (killed) {
    requests_.keep(requests_.size() - fabric_.scheduler().choose(ChoiceKind::remains, requests_.size() + 1, number_));
  }
  fabric_.scheduler().withdraw(initiator_news_);
  if (owner_ != nullptr) {
    announce(owner_news_, owner_process_, why, requests_.last_arrival(), news);
  }
}

void SimChannel::lose_owner(const Failure& why, Duration news, bool killed) noexcept {
  owner_ = nullptr;
  inbound_->end();
  requests_.clear();
  if (killed) {
    answers_.keep(answers_.size() - fabric_.scheduler().choose(ChoiceKind::remains, answers_.size() + 1, number_));
  }
  fabric_.scheduler().withdraw(owner_news_);
  if (initiator_ != nullptr) {
    announce(initiator_news_, initiator_process_, why, answers_.last_arrival(), news);
  }
}

void SimChannel::discard() noexcept {
  owner_ = nullptr;
  inbound_->end();
  answers_.clear();
}

void SimChannel::announce(News& news, ProcessNumber to, const Failure& why, TimePoint not_before,
                          Duration delay) noexcept {
  news.why = why;
  const Duration behind = std::max(not_before - fabric_.scheduler().now(), delay);
  fabric_.scheduler().schedule(news, StepKind::end_channel, to, number_, behind);
}

void SimChannel::tell_owner(Step& step) noexcept {
  News& news = static_cast<News&>(step);
  SimChannel& self = *news.channel;
  if (self.requests_.size() > 0) {  // due at this very instant: they come first
    self.announce(news, self.owner_process_, news.why, self.requests_.last_arrival(), Duration::zero());
  } else if (self.owner_ != nullptr) {
    self.owner_->inbound_ended(self, news.why);
  }
}

void SimChannel::tell_initiator(Step& step) noexcept {
  News& news = static_cast<News&>(step);
  SimChannel& self = *news.channel;
  if (self.answers_.size() > 0) {
    self.announce(news, self.initiator_process_, news.why, self.answers_.last_arrival(), Duration::zero());
  } else if (self.initiator_ != nullptr) {
    const Failure why = news.why;  // the channel ends here
    self.initiator_->channel_ended(why, PeerState::gone);
  }
}

}  // namespace ferry::sim
