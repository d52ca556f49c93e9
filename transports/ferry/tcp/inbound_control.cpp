#include <ferry/tcp/inbound.hpp>

#include <fmt/format.h>

namespace ferry::tcp {

TcpInbound::TcpInbound(NodeCore& node, InboundOwner& owner, std::shared_ptr<Session> session, Socket socket,
                       ChannelBuffers buffers, std::string who, const Channel::Context& context)
    : node_(node),
      owner_(owner),
      stats_(context.stats),
      session_(std::move(session)),
      channel_(
          std::make_shared<Channel>(*this, mutex_, std::move(socket), std::move(buffers), std::move(who), context)) {}

bool TcpInbound::begin() {
  const std::lock_guard lock(mutex_);
  if (state_ != State::open) {
    return false;
  }
  channel_->begin();
  return true;
}

bool TcpInbound::send(wire::Bytes&& message) noexcept {
  std::unique_lock lock(mutex_);
  if (state_ != State::open || channel_->is_broken()) {
    return false;
  }
  Stats::add(stats_.messages);
  messages_.push(std::move(message), channel_->out(), wire::kFrameHeaderSize + padded(kFailureBytes));
  channel_->pump(lock);
  return true;
}

void TcpInbound::on_broken(const Failure& why, PeerState) noexcept {
  const auto self = shared_from_this();
  {
    const std::lock_guard lock(mutex_);
    if (state_ != State::open) {
      return;  // whoever ends it waits for this poll
    }
    state_ = State::ending;
  }
  if (why.code() == errc::malformed || why.code() == errc::too_large) {
    node_.log().write(LogLevel::warning,
                      fmt::format("tcp: closed the connection from {}: {}", channel_->who(), why.detail()));
  }
  finish(why, said_goodbye_);
}

void TcpInbound::end(const Failure& why, bool goodbye) noexcept {
  const auto self = shared_from_this();
  std::unique_lock lock(mutex_);
  if (state_ != State::open) {
    ended_.wait(lock, [this] { return state_ == State::ended; });
    return;
  }
  if (goodbye && channel_->out().room() >= wire::kFrameHeaderSize) {
    put_header(channel_->out().append(wire::kFrameHeaderSize), Kind::goodbye, 0, 0, 0);
    channel_->pump(lock);
  }
  if (state_ != State::open) {  // broke meanwhile
    ended_.wait(lock, [this] { return state_ == State::ended; });
    return;
  }
  state_ = State::ending;
  lock.unlock();
  finish(why, goodbye);
}

void TcpInbound::finish(const Failure& why, bool gently) noexcept {
  channel_->end(gently);
  if (MessageSink* sink = node_.sink()) {
    sink->on_inbound_closed(shared_from_this(), why);
  }
  session_->forget(*this);
  owner_.on_inbound_ended(*this, said_goodbye_);
  const std::lock_guard lock(mutex_);
  messages_.clear();
  reads_.clear();
  state_ = State::ended;
  ended_.notify_all();
}

}  // namespace ferry::tcp
