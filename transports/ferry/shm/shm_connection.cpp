#include <ferry/shm/shm_connection.hpp>

#include <utility>

#include <ferry/base/check.hpp>
#include <ferry/base/limits.hpp>
#include <ferry/shm/shm_channel.hpp>
#include <ferry/transport/peer.hpp>

namespace ferry::shm {

ShmConnection::ShmConnection(ShmNode& node, const Peer& peer, ConnectionEvents& events) noexcept
    : node_(node), peer_(peer), events_(events) {}

ShmConnection::~ShmConnection() {
  FERRY_CHECK(current_ == nullptr);
}

void ShmConnection::open() noexcept {
  auto channel = std::make_shared<ShmChannel>(node_, *this);
  {
    const std::lock_guard lock(mutex_);
    current_ = channel;
  }
  if (Failure refused = channel->begin()) {
    forget(*channel);
    events_.on_closed(*this, refused, PeerState::unknown);
  }
}

Started ShmConnection::start(Operation& operation) noexcept {
  Reader* const reader = node_.readers.mine();
  if (reader == nullptr) [[unlikely]] {
    operation.failure = node_.readers.why_none();
    return Started::complete;
  }
  if (operation.kind == OperationKind::flush) {  // transmitted is delivered here
    return channel_.load(std::memory_order_relaxed) != nullptr ? Started::complete : Started::not_open;
  }
  if (!operation.region.generation) [[unlikely]] {
    operation.failure = empty_reference();
    return Started::complete;
  }
  CopyCursor cursor;
  Step step = Step::more;
  {
    const Reading reading(*reader, operation.region.generation);
    ShmChannel* const channel = channel_.load(std::memory_order_seq_cst);
    if (channel == nullptr) [[unlikely]] {
      return Started::not_open;
    }
    while (step == Step::more) {
      step = channel->step_inside(operation, cursor);
    }
  }
  if (step == Step::finished) [[likely]] {
    if (operation.failure && operation.kind != OperationKind::read && cursor.has_moved()) [[unlikely]] {
      operation.failure = operation.failure.with_effect(Effect::unknown);
    }
    return Started::complete;
  }
  const auto channel = current();
  return channel == nullptr ? ShmChannel::not_open(operation, cursor) : channel->start_pending(operation, step, cursor);
}

void ShmConnection::cancel(Operation& operation, const Failure& why) noexcept {
  if (const auto channel = current()) {
    channel->cancel(operation, why);
  }
}

bool ShmConnection::abandon(Operation& operation) noexcept {
  const auto channel = current();
  return channel != nullptr && channel->abandon(operation);
}

bool ShmConnection::send(wire::Bytes&& message) noexcept {
  const auto channel = current();
  return channel != nullptr && channel->send(std::move(message));
}

void ShmConnection::close(const Failure& why) noexcept {
  if (const auto channel = current()) {
    channel->close(why);
  }
}

std::string ShmConnection::describe() const {
  const auto channel = current();
  return channel == nullptr ? "no channel" : channel->describe();
}

void ShmConnection::leave(const ShmChannel& channel) noexcept {
  if (is_current(channel)) {
    channel_.store(nullptr, std::memory_order_seq_cst);
  }
}

void ShmConnection::forget(const ShmChannel& channel) noexcept {
  leave(channel);
  const std::lock_guard lock(mutex_);
  if (current_.get() == &channel) {
    current_.reset();
  }
}

std::shared_ptr<ShmChannel> ShmConnection::current() const noexcept {
  const std::lock_guard lock(mutex_);
  return current_;
}

}  // namespace ferry::shm
