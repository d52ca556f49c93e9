#include <fcntl.h>

#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include <ferry/shm/os_failure.hpp>
#include <ferry/shm/shm_channel.hpp>
#include <ferry/transport/peer.hpp>

namespace ferry::shm {
namespace {

constexpr std::chrono::milliseconds kConnectAgain{2};

// -1 if there is no descriptor left: sending then fails, and with it the handshake.
FileDescriptor duplicate(int descriptor) {
  return FileDescriptor(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
}

}  // namespace

// The first try is made here, so that a process that is not on this host is known at once.
Failure ShmChannel::begin() noexcept {
  connect_by_ = saturating_add(node_.core.executor().now(), node_.core.limits().handshake);
  auto socket = connect_to(connection_.peer().id());
  if (socket) {
    socket_.emplace(std::move(*socket));
  } else if (socket.error().code() == errc::overloaded) {
    alarm_.set(kConnectAgain);
  } else {
    return named(socket.error());
  }
  node_.poller->add(shared_from_this());
  return {};
}

void ShmChannel::try_to_connect() noexcept {
  if (!socket_) {
    auto socket = connect_to(connection_.peer().id());
    if (!socket) {
      if (socket.error().code() == errc::overloaded && node_.core.executor().now() < connect_by_) {
        alarm_.set(kConnectAgain);
      } else {
        finish(socket.error(), PeerState::unknown);
      }
      return;
    }
    socket_.emplace(std::move(*socket));
  }
  greet();
}

void ShmChannel::greet() noexcept {
  auto process = PeerProcess::of_socket(socket_->descriptor());
  if (!process) {
    finish(process.error(), PeerState::unknown);
    return;
  }
  process_.emplace(std::move(*process));
  meeting_.initiator = node_.core.self();
  meeting_.owner = connection_.peer().id();
  meeting_.initiator_nonce = fresh_nonce();
  Greeting greeting;
  greeting.initiator = meeting_.initiator;
  greeting.owner = meeting_.owner;
  greeting.nonce = meeting_.initiator_nonce;
  state_ = State::greeting;
  alarm_.set(node_.core.limits().handshake);
  socket_->send(encode_greeting(greeting));
  auto watched = node_.poller->watch(socket_->descriptor(), *this, kSocketTag);
  if (watched) {
    watched = node_.poller->watch(process_->descriptor(), *this, kProcessTag);
  }
  if (!watched) {
    finish(watched.error(), PeerState::unknown);
  }
}

void ShmChannel::send_packet(const ControlPacket& packet) {
  socket_->send(encode_packet(packet));
  if (shared_ != nullptr) {
    shared_->layout.mail_to_owner.value.store(++shared_->mail_sent, std::memory_order_release);
  }
}

void ShmChannel::receive_packets() noexcept {
  Packet packet;
  while (!end_of_socket_ && !ended_.load(std::memory_order_acquire)) {
    switch (socket_->receive(packet)) {
      case PacketSocket::Received::nothing:
        return;
      case PacketSocket::Received::packet:
        if (auto taken = take_packet(packet); !taken) {
          break_off(taken.error());
        }
        break;
      case PacketSocket::Received::closed:
        end_of_socket_ = true;
        // A process that dies closes its socket moments before it can be seen to be dead.
        linger(Failure(errc::peer_lost, "it closed the channel without a word"));
        return;
    }
  }
}

Result<void> ShmChannel::take_packet(Packet& packet) {
  switch (state_) {
    case State::greeting:
      return take_greeting(packet);
    case State::joining:
      return take_welcome(packet);
    case State::open:
    case State::lingering:
      return take_open_packet(packet);
    case State::connecting:
    case State::ended:
      break;
  }
  return {};
}

Result<void> ShmChannel::take_greeting(const Packet& packet) {
  auto greeting = decode_greeting(packet.bytes);
  if (!greeting) {
    return greeting.error();
  }
  if (greeting->refusal) {
    take_close(*greeting->refusal);
    return {};
  }
  auto version = wire::negotiate(kVersions, greeting->versions);
  if (!version) {
    return version.error();
  }
  meeting_.version = *version;
  meeting_.owner_nonce = greeting->nonce;
  if (greeting->initiator != meeting_.initiator || greeting->owner != meeting_.owner) {
    return Failure(errc::malformed, "the greeting is not for this process");
  }
  if (!greeting->proof || !is_proof(node_.core.secret(), Role::owner, meeting_, *greeting->proof)) {
    return Failure(errc::not_authorised, "it does not know the secret of this job");
  }
  auto memory = MemoryFile::create("ferry-channel", kChannelBytes, MemoryFile::Peers::write);
  if (!memory) {
    return memory.error();
  }
  channel_memory_ = std::move(*memory);
  ControlPacket join;
  join.kind = PacketKind::join;
  join.proof = prove(node_.core.secret(), Role::initiator, meeting_);
  std::vector<FileDescriptor> descriptors;
  for (const int shown : {node_.board->descriptor(), channel_memory_.descriptor(), node_.poller->doorbell()}) {
    descriptors.push_back(duplicate(shown));
    if (!descriptors.back()) {
      return os_failure(errno, "duplicating a descriptor for the handshake", errc::resource_exhausted);
    }
  }
  socket_->send(encode_packet(join), std::move(descriptors));
  state_ = State::joining;
  return {};
}

Result<void> ShmChannel::take_welcome(Packet& packet) {
  auto welcome = decode_packet(packet.bytes);
  if (!welcome) {
    return welcome.error();
  }
  if (welcome->kind == PacketKind::close) {
    take_close(*welcome->why);
    return {};
  }
  if (welcome->kind != PacketKind::welcome || packet.descriptors.size() != 2 || welcome->place >= kAdmissions ||
      welcome->channel == 0) {
    return Failure(errc::malformed, "a welcome with two descriptors was expected");
  }
  auto board = PeerBoard::map(packet.descriptors[0]);
  if (!board) {
    return board.error();
  }
  auto doorbell = PeerDoorbell::adopt(std::move(packet.descriptors[1]));
  if (!doorbell) {
    return doorbell.error();
  }
  shared_ = std::make_unique<Shared>(node_, connection_, *process_, std::move(channel_memory_), std::move(*board),
                                     std::move(*doorbell), welcome->channel, welcome->place);
  if (Peer* const peer = node_.core.peers().find(meeting_.owner)) {
    peer->set_name(std::move(welcome->name));
  }
  state_ = State::open;
  alarm_.set(shared_->liveness.tick());
  was_open_.store(true, std::memory_order_release);
  open_.store(true, std::memory_order_release);
  connection_.enter(*this);
  connection_.events().on_open(connection_);
  return {};
}

Result<void> ShmChannel::take_open_packet(const Packet& raw) {
  auto packet = decode_packet(raw.bytes);
  if (!packet) {
    return packet.error();
  }
  switch (packet->kind) {
    case PacketKind::segment:
      return take_segment(*packet, raw);
    case PacketKind::retire:
      shared_->segments.unmap(packet->segment);
      return {};
    case PacketKind::close:
      take_close(*packet->why);
      return {};
    default:
      return Failure(errc::malformed, "a control packet that only the initiator sends");
  }
}

Result<void> ShmChannel::take_segment(const ControlPacket& packet, const Packet& raw) {
  const PendingOperations::Wanted segment{packet.segment, packet.writable};
  if (packet.size == 0) {
    shared_->pending.segment_refused(segment, *packet.why);
    return {};
  }
  if (packet.segment == 0 || raw.descriptors.size() != 1) {
    return Failure(errc::malformed, "a segment with one descriptor was expected");
  }
  auto mapped = shared_->segments.map(packet.segment, packet.writable, raw.descriptors[0], packet.size);
  if (mapped) {
    shared_->pending.segment_mapped(segment);
    return {};
  }
  if (mapped.error().code() == errc::malformed) {
    return mapped;
  }
  shared_->pending.segment_refused(segment, mapped.error());
  return {};
}

void ShmChannel::take_close(const Failure& why) noexcept {
  take_last_messages();
  if (why.code() == errc::shut_down) {
    finish(Failure(errc::peer_lost, "the process has shut its node down"), PeerState::gone);
  } else {
    finish(why, PeerState::unknown);
  }
}

void ShmChannel::look() noexcept {
  receive_packets();
  if (state_ != State::open) {
    return;
  }
  if (process_->has_ended()) {
    peer_ended();
  } else if (!shared_->is_admitted()) {
    linger(Failure(errc::peer_lost, "the owner no longer admits this process"));
  }
}

void ShmChannel::linger(const Failure& why) noexcept {
  if (state_ == State::lingering || state_ == State::ended) {
    return;
  }
  state_ = State::lingering;
  linger_why_ = why;
  open_.store(false, std::memory_order_release);
  connection_.leave(*this);
  alarm_.set(node_.core.limits().quiet_grace);
  if (process_->has_ended()) {
    peer_ended();
  }
}

// A process that is stopped has not ended, and only its silence tells.
void ShmChannel::watch_owner() noexcept {
  if (shared_->liveness.look(shared_->board)) {
    alarm_.set(shared_->liveness.tick());
    return;
  }
  const Duration silence = node_.core.limits().failure_detection;
  finish(Failure(errc::peer_lost,
                 fmt::format("the process (PID {}) was silent for {} ms; it may be stopped", process_->pid(),
                             std::chrono::duration_cast<std::chrono::milliseconds>(silence).count())),
         PeerState::unknown);
}

void ShmChannel::on_alarm() noexcept {
  finish(state_ == State::lingering
             ? linger_why_
             : Failure(errc::timed_out, "the process did not answer within the handshake limit (is it stopped?)"),
         PeerState::unknown);
}

void ShmChannel::peer_ended() noexcept {
  take_last_messages();
  finish(Failure(errc::peer_lost, fmt::format("the process (PID {}) has ended", process_->pid())), PeerState::gone);
}

void ShmChannel::break_off(const Failure& why) noexcept {
  if (ended_.load(std::memory_order_acquire)) {
    return;
  }
  if (why.code() != errc::shut_down) {
    node_.core.log().write(LogLevel::warning, fmt::format("shm: closed the channel to {}: {}",
                                                          connection_.peer().describe(), why.to_text()));
  }
  ControlPacket close;
  close.why = why;
  send_packet(close);
  finish(why, PeerState::unknown);
}

}  // namespace ferry::shm
