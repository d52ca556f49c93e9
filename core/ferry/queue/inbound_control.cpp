#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <ferry/queue/queue_inbound.hpp>
#include <ferry/transport/peer.hpp>

namespace ferry::queue {

QueueInbound::~QueueInbound() = default;

void QueueInbound::begin(const QueueServer::MakeLink& make) {
  const std::lock_guard lock(mutex_);  // its events wait
  link_ = make(*this);
  initiator_ = link_->peer();
}

std::string QueueInbound::who() const {
  return fmt::format("process {}", to_string(initiator_));
}

bool QueueInbound::send(wire::Bytes&& message) noexcept {
  const std::lock_guard lock(mutex_);
  return state_ == State::open && link_->send(encode_message(message));
}

void QueueInbound::on_control(wire::Bytes&& message) noexcept {
  const auto self = shared_from_this();
  const Control kind = message.empty() ? Control{} : static_cast<Control>(message[0]);
  const wire::ByteView body = message.empty() ? wire::ByteView{} : wire::ByteView(message).subspan(1);
  State state;
  {
    const std::lock_guard lock(mutex_);
    state = state_;
  }
  if (state == State::ending || state == State::ended) {
    return;
  }
  if (kind == Control::goodbye) {
    finish(Failure(errc::peer_lost, fmt::format("{} closed the connection", who())), true, false, false);
    return;
  }
  Result<void> done = state == State::strange
                          ? kind == Control::hello ? greet(body) : Failure(errc::malformed, "a hello expected")
                          : take(kind, body);
  if (done) {
    return;
  }
  if (done.error().code() == errc::malformed) {
    log_end(done.error());
  }
  finish(done.error(), false, false, false);
}

void QueueInbound::log_end(const Failure& why) const {
  node_.log().write(LogLevel::warning,
                    fmt::format("{}: closed the connection from {}: {}", to_string(transport_), who(), why.detail()));
}

void QueueInbound::end_malformed() noexcept {
  const auto self = shared_from_this();
  Failure why;
  {
    const std::lock_guard lock(mutex_);
    why = farewell_.why;
  }
  log_end(why);
  finish(why, false, false, false);
}

void QueueInbound::on_control_closed(const Failure& why, PeerState) noexcept {
  finish(why, false, false, false);
}

// The channel before has been discarded when this process answers.
Result<void> QueueInbound::greet(wire::ByteView body) {
  auto hello = decode_hello(body);
  if (!hello) {
    return hello.error();
  }
  if (hello->contact.id != initiator_) {
    return Failure(errc::malformed, fmt::format("hello: it says that it is process {}", to_string(hello->contact.id)));
  }
  {
    const std::lock_guard lock(mutex_);
    if (state_ != State::strange) {
      return {};
    }
    state_ = State::greeting;
  }
  const auto session = server_.take_over(shared_from_this(), initiator_, hello->channel);
  if (session == nullptr) {
    return Failure(errc::peer_lost, "a later connection of the same process was here first");
  }
  Peer& peer = node_.peers().find_or_add(hello->contact);
  if (!hello->name.empty()) {
    peer.set_name(hello->name);
  }
  const std::lock_guard lock(mutex_);
  session_ = session;
  if (state_ != State::greeting) {
    return {};
  }
  const OrderClass own = device_.limits().order;
  order_ = own == hello->order ? own : OrderClass::unordered;  // the initiator knows whether both can speak
  state_ = State::open;
  link_->send(encode(Welcome{own, device_.limits().flush, session->token, node_.name()}));
  return {};
}

Result<void> QueueInbound::take(Control kind, wire::ByteView body) {
  switch (kind) {
    case Control::message:
      if (MessageSink* const sink = node_.sink()) {
        sink->on_request(shared_from_this(), wire::Bytes(body));
      }
      return {};
    case Control::open_lane: {
      const auto open = decode_open_lane(body);
      return open ? open_lane(*open) : open.error();
    }
    case Control::discard: {
      const auto lane = decode_lane(body);
      if (!lane) {
        return lane.error();
      }
      discard_lane(*lane);
      return {};
    }
    case Control::check: {
      const auto check = decode_check(body);
      if (!check) {
        return check.error();
      }
      const auto pin = node_.regions().pin(check->region, check->access, check->offset, check->length);
      const std::lock_guard lock(mutex_);
      if (state_ == State::open) {
        link_->send(encode_checked(check->id, pin ? Failure() : pin.error()));
      }
      return {};
    }
    case Control::atomic: {
      const auto request = decode_atomic(body);
      if (!request) {
        return request.error();
      }
      const std::lock_guard lock(mutex_);
      if (state_ != State::open) {
        return {};
      }
      const auto executed = execute_atomic_once(*request);
      if (!executed) {
        return executed.error();
      }
      link_->send(encode(*executed));
      return {};
    }
    case Control::forget_sequence: {
      const auto sequence = decode_sequence(body);
      if (!sequence) {
        return sequence.error();
      }
      const std::lock_guard lock(mutex_);
      failed_sequences_.erase(*sequence);
      return {};
    }
    default:
      return Failure(errc::malformed,
                     fmt::format("an initiator's message expected, found kind {}", static_cast<int>(kind)));
  }
}

Result<void> QueueInbound::open_lane(const OpenLane& open) {
  {
    const std::lock_guard lock(mutex_);
    if (lanes_.size() >= kOwnerLanes ||
        std::any_of(lanes_.begin(), lanes_.end(), [&](const OwnerLane& lane) { return lane.id == open.lane; })) {
      return Failure(errc::malformed,
                     fmt::format("lane {} is one too many of {}, or open already", open.lane, lanes_.size()));
    }
  }
  auto made = make_lane(open);
  const std::lock_guard lock(mutex_);
  if (state_ != State::open) {
    return {};
  }
  if (!made) {
    link_->send(encode_lane_refused(open.lane, made.error()));
    return {};
  }
  const LaneReady ready{open.lane, static_cast<std::uint32_t>(made->receives->slots()), device_.readable_word(),
                        made->queue->address()};
  lanes_.push_back(std::move(*made));
  link_->send(encode(ready));
  return {};
}

// Nothing arrives before the initiator is told of it.
Result<QueueInbound::OwnerLane> QueueInbound::make_lane(const OpenLane& open) {
  const DeviceLimits& limits = device_.limits();
  QueuePairOptions options;
  options.requests = 1;
  options.receives = std::min(order_ == OrderClass::srd ? kSrdReceives : kReceives, limits.receives);
  OwnerLane lane;
  lane.id = open.lane;
  auto receives = Staging::create(device_, options.receives, kCommandBytes);
  if (!receives) {
    return receives.error();
  }
  lane.receives = std::move(*receives);
  auto queue = device_.create_queue_pair(options, *this);
  if (!queue) {
    return queue.error();
  }
  lane.queue = std::move(*queue);
  if (auto posted = post_receives(*lane.queue, *lane.receives); !posted) {
    return posted.error();
  }
  if (auto connected = lane.queue->connect(open.address); !connected) {
    return connected.error();
  }
  return lane;
}

// What was accepted is in memory when this process says so; commands whose receives were not looked at are not
// executed.
void QueueInbound::discard_lane(std::uint32_t id) {
  OwnerLane lane;
  Discarded discarded;
  discarded.lane = id;
  {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::find_if(lanes_.begin(), lanes_.end(), [id](const OwnerLane& each) { return each.id == id; });
    if (found != lanes_.end()) {
      lane = std::move(*found);
      lanes_.erase(found);
    }
  }
  if (lane.queue != nullptr) {
    lane.queue->stop();
    discarded.has_refused = lane.queue->has_refused();
    discarded.progress = lane.queue->progress();
    lane.queue = nullptr;
  }
  const std::lock_guard lock(mutex_);
  if (state_ == State::open) {
    link_->send(encode(discarded));
  }
}

void QueueInbound::end(const Failure& why, bool goodbye) noexcept {
  finish(why, false, goodbye, true);
}

// waits: for another thread that is at it. An event does not: that thread may be waiting for the event.
void QueueInbound::finish(const Failure& why, bool for_good, bool goodbye, bool waits) noexcept {
  const auto self = shared_from_this();
  std::unique_lock lock(mutex_);
  if (state_ == State::ending || state_ == State::ended) {
    changed_.wait(lock, [this, waits] { return !waits || state_ == State::ended; });
    return;
  }
  const bool was_open = state_ == State::open;
  if (goodbye) {
    link_->send(encode_goodbye());
  }
  state_ = State::ending;
  std::vector<OwnerLane> lanes = std::move(lanes_);
  lanes_.clear();
  const auto session = session_;
  lock.unlock();
  for (OwnerLane& lane : lanes) {
    lane.queue->stop();
  }
  lanes.clear();
  link_->close(why);
  node_.executor().cancel_timer(farewell_);
  if (MessageSink* const sink = node_.sink(); sink != nullptr && was_open) {
    sink->on_inbound_closed(self, why);
  }
  server_.ended(*this, session, for_good);
  lock.lock();
  state_ = State::ended;
  changed_.notify_all();
}

}  // namespace ferry::queue
