#include <ferry/shm/shm_channel.hpp>

#include <thread>
#include <utility>

#include <fmt/format.h>

#include <ferry/transport/peer.hpp>

namespace ferry::shm {

ShmChannel::Shared::Shared(ShmNode& node, ShmConnection& connection, const PeerProcess& process,
                           MemoryFile channel_memory, PeerBoard owner_board, PeerDoorbell owner_doorbell,
                           std::uint64_t channel_number, std::uint32_t admission)
    : memory(std::move(channel_memory)),
      board(std::move(owner_board)),
      doorbell(std::move(owner_doorbell)),
      channel(channel_number),
      admitted(board->admitted[admission]),
      layout(channel_layout(memory)),
      segments(node),
      foreign(process),
      reader(layout.to_initiator, layout.rings[1].data(), node.core.limits().frame_bytes),
      writer(layout.to_owner, layout.rings[0].data()),
      pending(node, connection, layout),
      liveness(node.core.limits()) {}

ShmChannel::ShmChannel(ShmNode& node, ShmConnection& connection)
    : node_(node), connection_(connection), alarm_(node.core.executor(), *node.poller) {}

ShmChannel::~ShmChannel() = default;

bool ShmChannel::send(wire::Bytes&& message) noexcept {
  if (!open_.load(std::memory_order_acquire)) {
    return false;
  }
  if (shared_->writer.send(std::move(message))) {
    node_.wake_peer(shared_->board, shared_->doorbell);
  }
  return true;
}

void ShmChannel::cancel(Operation& operation, const Failure& why) noexcept {
  if (was_open_.load(std::memory_order_acquire)) {
    shared_->pending.cancel(operation, why);
  }
}

bool ShmChannel::abandon(Operation& operation) noexcept {
  return was_open_.load(std::memory_order_acquire) && shared_->pending.abandon(operation);
}

std::string ShmChannel::describe() const {
  return open_.load(std::memory_order_acquire) ? fmt::format("memory shared with PID {}", process_->pid())
                                               : "connecting";
}

bool ShmChannel::has_work() noexcept {
  switch (state_) {
    case State::connecting:
      return socket_.has_value() || alarm_.is_ringing();
    case State::greeting:
    case State::joining:
    case State::lingering:
      return alarm_.is_ringing();
    case State::open:
      return shared_->reader.has_bytes() || shared_->pending.has_work() || shared_->writer.can_flush() ||
             shared_->writer.is_broken() || alarm_.is_ringing() || look_.load(std::memory_order_acquire);
    case State::ended:
      break;
  }
  return false;
}

bool ShmChannel::poll() noexcept {
  switch (state_) {
    case State::connecting:
      if (socket_ || alarm_.has_rung()) {
        try_to_connect();
        return true;
      }
      return false;
    case State::open:
      return poll_open();
    case State::ended:
      return false;
    default:
      break;
  }
  if (!alarm_.has_rung()) {
    return false;
  }
  on_alarm();
  return true;
}

bool ShmChannel::poll_open() noexcept {
  bool any = false;
  if (look_.load(std::memory_order_relaxed) && look_.exchange(false, std::memory_order_acquire)) {
    look();
    any = true;
  }
  if (state_ == State::open && alarm_.has_rung()) {
    watch_owner();
    any = true;
  }
  const std::uint64_t mail = shared_->layout.mail_to_initiator.value.load(std::memory_order_acquire);
  if (state_ == State::open && mail != shared_->mail_seen) {
    shared_->mail_seen = mail;
    receive_packets();
    any = true;
  }
  any |= state_ == State::open && take_messages();
  any |= state_ == State::open && poll_pending();
  if (state_ == State::open && shared_->writer.flush()) {
    node_.wake_peer(shared_->board, shared_->doorbell);
    any = true;
  }
  if (state_ == State::open && shared_->writer.is_broken()) {
    break_off(Failure(errc::malformed, "message ring: the owner says that it has read what was never written"));
  }
  return any;
}

bool ShmChannel::take_messages() {
  wire::Bytes message;
  int taken = 0;
  for (; taken < kMessagesAtOnce && is_readable(); ++taken) {
    auto complete = shared_->reader.next(message);
    if (!complete) {
      break_off(complete.error());
      return true;
    }
    if (!*complete) {
      break;
    }
    connection_.events().on_message(connection_, std::move(message));
    if (ended_.load(std::memory_order_acquire)) {
      return true;
    }
  }
  if (is_readable() && shared_->reader.release()) {
    node_.wake_peer(shared_->board, shared_->doorbell);
  }
  return taken > 0;
}

// What the owner said before it left.
void ShmChannel::take_last_messages() {
  while (is_readable() && take_messages()) {
  }
}

bool ShmChannel::poll_pending() {
  if (!shared_->pending.is_busy()) {
    return false;
  }
  auto any = shared_->pending.poll(*this);
  if (!any) {
    if (any.error().code() == errc::malformed) {
      break_off(any.error());
    } else {
      finish(any.error(), PeerState::unknown);
    }
    return true;
  }
  for (const PendingOperations::Wanted& wanted : shared_->pending.take_wanted()) {
    ControlPacket request;
    request.kind = PacketKind::map;
    request.segment = wanted.segment;
    request.writable = wanted.writable;
    send_packet(request);
  }
  if (shared_->pending.take_submitted()) {
    node_.wake_peer(shared_->board, shared_->doorbell);
  }
  shared_->pending.deliver();
  return *any;
}

void ShmChannel::on_ready(unsigned tag) noexcept {
  if (state_ == State::ended) {
    return;
  }
  if (tag == kProcessTag) {
    if (process_->has_ended()) {
      peer_ended();
    }
    return;
  }
  socket_->flush();
  receive_packets();
}

// --- The end.

bool ShmChannel::begin_end() noexcept {
  if (ended_.exchange(true, std::memory_order_acq_rel)) {
    return false;
  }
  open_.store(false, std::memory_order_release);
  connection_.leave(*this);
  return true;
}

std::vector<wire::Bytes> ShmChannel::close_down() noexcept {
  state_ = State::ended;
  alarm_.cancel();
  if (process_) {
    node_.poller->unwatch(socket_->descriptor());
    node_.poller->unwatch(process_->descriptor());
  }
  return shared_ == nullptr ? std::vector<wire::Bytes>() : shared_->writer.close();
}

void ShmChannel::give_back(const std::vector<wire::Bytes>& unsent, const Failure& why) noexcept {
  for (const wire::Bytes& message : unsent) {
    connection_.events().on_unsent(connection_, {message.data(), message.size()}, why);
  }
}

Failure ShmChannel::named(const Failure& why) const {
  return why.with_peer(connection_.peer().describe());
}

void ShmChannel::finish(const Failure& why, PeerState state) noexcept {
  if (!begin_end()) {
    return;
  }
  const auto unsent = close_down();
  const Failure lost = named(why);
  give_back(unsent, lost);
  ConnectionEvents& events = connection_.events();
  if (shared_ != nullptr) {
    const Failure unknown = state == PeerState::gone ? lost : named(Failure(errc::outcome_unknown, why.detail()));
    for (Operation* again : shared_->pending.end(unknown, false)) {
      events.redrive(*again, lost);
    }
    shared_->pending.handed_back();
    shared_->pending.deliver();
  }
  connection_.forget(*this);
  node_.poller->retire(node_.readers.grace(), shared_from_this());
  events.on_closed(connection_, lost, state);
  node_.poller->remove(*this);  // last: close() waits for it
}

void ShmChannel::close(const Failure& why) noexcept {
  const std::shared_ptr<ShmChannel> keep = shared_from_this();
  const bool is_ours = begin_end();
  node_.poller->remove(*this);
  if (!is_ours) {
    return;  // the polling thread ended it, and is through
  }
  if (socket_ && state_ != State::connecting) {
    ControlPacket close;
    close.why = why;
    send_packet(close);
  }
  give_back(close_down(), why);
  if (shared_ != nullptr) {
    shared_->pending.end(why, true);
    shared_->pending.handed_back();
    shared_->pending.deliver();
  }
  connection_.forget(*this);
  ReaderSlots::Grace grace = node_.readers.grace();
  while (!grace.has_passed()) {
    std::this_thread::yield();
  }
  socket_.reset();  // the owner knows by this that nobody reads any more
}

}  // namespace ferry::shm
