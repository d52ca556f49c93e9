// How a channel is made, and how it ends.
#include <utility>

#include <fmt/format.h>

#include <ferry/queue/message_link.hpp>
#include <ferry/queue/queue_connection.hpp>
#include <ferry/transport/peer.hpp>

namespace ferry::queue {

QueueConnection::Calling::Calling(QueueConnection& connection) : connection_(connection), inside_(&connection) {
  const std::lock_guard lock(connection.mutex_);
  ++connection.callers_;
}

QueueConnection::Calling::~Calling() {
  const std::lock_guard lock(connection_.mutex_);
  --connection_.callers_;
  connection_.changed_.notify_all();
}

QueueConnection::QueueConnection(NodeCore& node, const Peer& peer, ConnectionEvents& events, Device& device,
                                 std::unique_ptr<ControlDialer> dialer, TransportId transport, MessageWay way)
    : node_(node),
      peer_(peer),
      events_(events),
      device_(device),
      dialer_(way.has_queue_pair ? std::make_unique<MessageDialer>(node, device, std::move(dialer), way.few)
                                 : std::move(dialer)),
      transport_(transport),
      who_(fmt::format("process {}", to_string(peer.id()))),
      handshake_(*this, &QueueConnection::on_handshake_due),
      grace_(*this, &QueueConnection::on_grace_over),
      attention_(*this, &QueueConnection::on_attention) {
  reopen_.kind = OperationKind::flush;
  reopen_.starter = this;
  reopen_.on_complete = &QueueConnection::reopened;
}

QueueConnection::~QueueConnection() {
  close(Failure(errc::shut_down, "the connection's owner is gone"));
}

bool QueueConnection::pipelines_sequences() const noexcept {
  const std::lock_guard lock(mutex_);
  return order_ == OrderClass::strict || order_ == OrderClass::unordered;
}

void QueueConnection::describe_operations(std::vector<std::string>& phrases) const {
  const std::lock_guard lock(mutex_);
  for (const Pending* pending : pool_.all()) {
    if (pending->operation != nullptr && !pending->is_orphan && pending->place != Pending::Place::done) {
      phrases.push_back(ferry::describe(*pending->operation));
    }
  }
}

std::string QueueConnection::describe() const {
  return dialer_->describe();
}

// Without the lock: dialers may ask the Peer where its process is.
void QueueConnection::open() noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_for_good_ || state_ != State::closed) {
      return;
    }
    state_ = State::dialing;
    has_link_ = false;
    ++channel_;
  }
  std::unique_ptr<ControlLink> link = dialer_->dial(*this);
  const std::lock_guard lock(mutex_);
  link_ = std::move(link);
  has_link_ = true;
  changed_.notify_all();
}

// Events of a link that dial() has not returned yet wait for it.
void QueueConnection::wait_for_link(std::unique_lock<std::mutex>& lock) noexcept {
  if (state_ == State::dialing) {
    changed_.wait(lock, [this] { return has_link_; });
  }
}

void QueueConnection::on_control_open() noexcept {
  const Calling calling(*this);
  std::vector<std::unique_ptr<ControlLink>> old;
  Hello hello{device_.limits().order, device_.limits().flush, 0, node_.name(), node_.contact()};
  std::unique_lock lock(mutex_);
  wait_for_link(lock);
  if (state_ != State::dialing) {
    return;
  }
  old.swap(old_links_);
  state_ = State::greeting;
  arm(handshake_, saturating_add(node_.executor().now(), node_.limits().handshake));
  hello.channel = channel_;
  link_->send(encode(hello));
  lock.unlock();
  old.clear();
}

void QueueConnection::on_control_closed(const Failure& why, PeerState state) noexcept {
  const Calling calling(*this);
  std::unique_lock lock(mutex_);
  wait_for_link(lock);
  if (state_ == State::closed || state_ == State::ending) {
    return;
  }
  end_channel(lock, why, state, false);
}

// Tells the Peer, and leaves the lock open. for_good: within close().
void QueueConnection::end_channel(std::unique_lock<std::mutex>& lock, const Failure& why, PeerState state,
                                  bool for_good) noexcept {
  state_ = State::ending;
  ++channel_;
  std::unique_ptr<ControlLink> link = std::move(link_);
  std::array<Retired, 2 * kLanes> retired;
  for (std::size_t index = 0; index < kLanes; ++index) {
    Lane& lane = lanes_[index];
    retired[2 * index] = retire(lane);
    retired[2 * index + 1] = Retired{std::move(lane.next_staging), std::move(lane.next_queue)};
  }
  lock.unlock();
  retired = {};  // local memory is quiet
  if (link != nullptr) {
    link->close(why);
  }
  node_.executor().cancel_timer(handshake_);
  if (why.code() == errc::malformed) {
    node_.log().write(LogLevel::warning,
                      fmt::format("{}: closed the connection to {}: {}", to_string(transport_), who_, why.detail()));
  }
  lock.lock();
  handshake_.armed = false;
  if (link != nullptr) {
    old_links_.push_back(std::move(link));
  }
  std::vector<Operation*> again;
  if (for_good) {
    end_all(why);
  } else {
    lose_all(why, again);
  }
  const bool reopen = !for_good && kept_ > 0 && !reopen_is_out_;
  reopen_is_out_ |= reopen;
  lock.unlock();
  settle();
  for (Operation* operation : again) {
    events_.redrive(*operation, why);
  }
  if (reopen) {
    events_.redrive(reopen_, why);
  }
  lock.lock();
  state_ = State::closed;
  changed_.notify_all();
  lock.unlock();
  events_.on_closed(*this, why, state);
}

// The operation that made the Peer open a channel has ended: there is one, or there will be none.
void QueueConnection::reopened(Operation& trigger) noexcept {
  auto& connection = *static_cast<QueueConnection*>(trigger.starter);
  std::unique_lock lock(connection.mutex_);
  connection.reopen_is_out_ = false;
  const Failure failure = std::exchange(trigger.failure, {});
  if (connection.kept_ > 0) {
    connection.end_kept(failure ? failure : Failure(errc::outcome_unknown, "the peer is now reached another way"));
  }
  lock.unlock();
  connection.settle();
}

void QueueConnection::close(const Failure& why) noexcept {
  std::unique_lock lock(mutex_);
  is_closed_for_good_ = true;
  if (state_ == State::ending && Inside::depth(this) == 0) {
    changed_.wait(lock, [this] { return state_ != State::ending; });
  }
  if (state_ == State::dialing || state_ == State::greeting || state_ == State::open) {
    if (state_ != State::dialing) {
      link_->send(encode_goodbye());
    }
    end_channel(lock, why, PeerState::unknown, true);
    lock.lock();
  }
  end_all(why);
  const int own = Inside::depth(this);
  changed_.wait(lock, [this, own] { return callers_ == own; });
  lock.unlock();
  node_.executor().cancel_timer(grace_);
  node_.executor().cancel_timer(attention_);
  lock.lock();
  grace_.armed = false;
  attention_.armed = false;
  lock.unlock();
  settle();
}

// Locked.
void QueueConnection::arm(Alarm& alarm, TimePoint due) noexcept {
  if (!alarm.armed) {
    alarm.armed = true;
    node_.executor().start_timer(alarm, due);
  }
}

void QueueConnection::on_handshake_due() noexcept {
  const Calling calling(*this);
  std::unique_lock lock(mutex_);
  if (!std::exchange(handshake_.armed, false) || state_ != State::greeting) {
    return;
  }
  end_channel(lock,
              Failure(errc::timed_out, fmt::format("{} took the connection, but did not answer within its handshake's "
                                                   "limit",
                                                   who_)),
              PeerState::unknown, false);
}

void QueueConnection::on_attention() noexcept {
  const Calling calling(*this);
  {
    const std::lock_guard lock(mutex_);
    attention_.armed = false;
  }
  settle();
}

}  // namespace ferry::queue
