#include <ferry/shm/shm_inbound.hpp>

#include <fcntl.h>

#include <utility>

#include <fmt/format.h>

#include <ferry/shm/liveness.hpp>
#include <ferry/shm/os_failure.hpp>

namespace ferry::shm {

ShmInbound::Shared::Shared(MemoryFile channel_memory, PeerDoorbell peer_doorbell, RegionTable& regions,
                           std::size_t frame_limit) noexcept
    : memory(std::move(channel_memory)),
      doorbell(std::move(peer_doorbell)),
      layout(channel_layout(memory)),
      reader(layout.to_owner, layout.rings[0].data(), frame_limit),
      writer(layout.to_initiator, layout.rings[1].data()),
      commands(layout, regions) {}

ShmInbound::ShmInbound(ShmNode& node, ShmListener& listener, PacketSocket socket, PeerProcess process)
    : node_(node),
      listener_(listener),
      socket_(std::move(socket)),
      pid_(process.pid()),
      process_(std::move(process)),
      alarm_(node.core.executor(), *node.poller) {}

ShmInbound::~ShmInbound() = default;

void ShmInbound::start() noexcept {
  alarm_.set(node_.core.limits().handshake);
  node_.poller->add(shared_from_this());
  auto watched = node_.poller->watch(socket_.descriptor(), *this, kSocketTag);
  if (watched) {
    watched = node_.poller->watch(process_->descriptor(), *this, kProcessTag);
  }
  if (!watched) {
    break_off(watched.error());
  }
}

std::string ShmInbound::who() const {
  return meeting_.initiator ? fmt::format("process {} (PID {})", to_string(meeting_.initiator), pid_)
                            : fmt::format("PID {}", pid_);
}

bool ShmInbound::send(wire::Bytes&& message) noexcept {
  if (!open_.load(std::memory_order_acquire)) {
    return false;
  }
  if (shared_->writer.send(std::move(message))) {
    node_.wake_peer(watch_->board, shared_->doorbell);
  }
  return true;
}

void ShmInbound::end(const Failure& why) noexcept {
  if (state_ == State::closing || state_ == State::gone) {
    return;
  }
  const State before = std::exchange(state_, State::closing);
  alarm_.cancel();
  open_.store(false, std::memory_order_release);
  listener_.withdraw(*this);
  if (before == State::greeting) {
    Greeting refusal;
    refusal.refusal = why;
    socket_.send(encode_greeting(refusal));
    return;
  }
  ControlPacket close;
  close.why = why;
  send_packet(close);
  if (before == State::open) {
    shared_->writer.close();
    if (MessageSink* sink = node_.core.sink()) {
      sink->on_inbound_closed(shared_from_this(), why);
    }
  }
}

void ShmInbound::let_go() noexcept {
  state_ = State::gone;
  node_.poller->unwatch(socket_.descriptor());
  node_.poller->unwatch(watch_ != nullptr ? watch_->process.descriptor() : process_->descriptor());
  socket_ = PacketSocket(FileDescriptor{});
}

void ShmInbound::break_off(const Failure& why) noexcept {
  // The end of this node is nothing that anybody must act on.
  if (state_ != State::closing && state_ != State::gone && why.code() != errc::shut_down) {
    node_.core.log().write(LogLevel::warning, fmt::format("shm: closed the channel of {}: {}", who(), why.to_text()));
  }
  const bool was_shown = state_ == State::open || state_ == State::closing;
  end(why);
  if (!was_shown) {
    peer_has_left(why);  // it was never shown anything
  }
}

void ShmInbound::peer_has_left(const Failure& why) noexcept {
  if (state_ == State::gone) {
    return;
  }
  end(why);
  let_go();
  if (watch_ != nullptr) {
    node_.domain.remove_reader(watch_);
  }
  listener_.remove(*this);
  node_.poller->remove(*this);
}

bool ShmInbound::has_work() noexcept {
  if (state_ == State::greeting || state_ == State::joining) {
    return alarm_.is_ringing();
  }
  return state_ == State::open &&
         (shared_->reader.has_bytes() || shared_->commands.has_work() || shared_->writer.can_flush() ||
          alarm_.is_ringing() || fenced_.load(std::memory_order_acquire) ||
          any_retired_.load(std::memory_order_acquire));
}

bool ShmInbound::poll() noexcept {
  if (state_ != State::open) {
    if (alarm_.has_rung() && (state_ == State::greeting || state_ == State::joining)) {
      break_off(Failure(errc::timed_out, "it connected and did not say who it is within the handshake limit"));
    }
    return false;
  }
  if (fenced_.load(std::memory_order_acquire)) {
    end(Failure(errc::not_authorised, "this life of the process was fenced off: it has been replaced"));
    return true;
  }
  if (alarm_.has_rung()) {
    Liveness::beat(*node_.board);
    alarm_.set(Liveness::between_beats(node_.core.limits()));
  }
  const std::uint64_t mail = shared_->layout.mail_to_owner.value.load(std::memory_order_acquire);
  if (mail != shared_->mail_seen) {
    shared_->mail_seen = mail;
    receive_packets();
    if (state_ != State::open) {
      return true;
    }
  }
  send_retired();
  bool any = take_messages();
  any |= state_ == State::open && serve_commands();
  if (state_ == State::open && shared_->writer.flush()) {
    node_.wake_peer(watch_->board, shared_->doorbell);
    any = true;
  }
  return any;
}

bool ShmInbound::take_messages() {
  wire::Bytes message;
  int taken = 0;
  for (; taken < kMessagesAtOnce && state_ == State::open; ++taken) {
    auto complete = shared_->reader.next(message);
    if (!complete) {
      break_off(complete.error());
      return true;
    }
    if (!*complete) {
      break;
    }
    if (MessageSink* sink = node_.core.sink()) {
      sink->on_request(shared_from_this(), std::move(message));
    }
  }
  if (state_ == State::open && shared_->reader.release()) {
    node_.wake_peer(watch_->board, shared_->doorbell);
  }
  return taken > 0;
}

bool ShmInbound::serve_commands() {
  auto executed = shared_->commands.serve();
  if (!executed) {
    break_off(executed.error());
    return true;
  }
  if (*executed == 0) {
    return false;
  }
  node_.counters.commands_served.fetch_add(static_cast<std::uint64_t>(*executed), std::memory_order_relaxed);
  node_.wake_peer(watch_->board, shared_->doorbell);
  return true;
}

void ShmInbound::on_ready(unsigned tag) noexcept {
  if (state_ == State::gone) {
    return;
  }
  if (tag == kProcessTag) {
    // A descriptor is reported ready for writing too when it is first watched; only its end counts.
    if (watch_ != nullptr ? watch_->process.has_ended() : process_->has_ended()) {
      peer_has_left(Failure(errc::peer_lost, fmt::format("{} has ended", who())));
    }
    return;
  }
  socket_.flush();
  receive_packets();
}

void ShmInbound::receive_packets() noexcept {
  Packet packet;
  while (state_ != State::gone) {
    switch (socket_.receive(packet)) {
      case PacketSocket::Received::nothing:
        return;
      case PacketSocket::Received::closed:
        peer_has_left(Failure(errc::peer_lost, fmt::format("{} closed the channel", who())));
        return;
      case PacketSocket::Received::packet:
        if (auto taken = take_packet(packet); !taken) {
          break_off(taken.error());
        }
        break;
    }
  }
}

}  // namespace ferry::shm
