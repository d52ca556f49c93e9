#include <fcntl.h>

#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include <ferry/shm/liveness.hpp>
#include <ferry/shm/os_failure.hpp>
#include <ferry/shm/shm_inbound.hpp>

namespace ferry::shm {
namespace {

Result<FileDescriptor> duplicate(int descriptor, const char* what) {
  FileDescriptor copy(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  if (!copy) {
    return os_failure(errno, fmt::format("duplicating the descriptor of {}", what), errc::resource_exhausted);
  }
  return copy;
}

}  // namespace

void ShmInbound::send_packet(const ControlPacket& packet, std::vector<FileDescriptor> descriptors) {
  socket_.send(encode_packet(packet), std::move(descriptors));
  if (shared_ != nullptr) {
    shared_->layout.mail_to_initiator.value.store(++shared_->mail_sent, std::memory_order_release);
  }
}

Result<void> ShmInbound::take_packet(Packet& packet) {
  switch (state_) {
    case State::greeting:
      return take_greeting(packet);
    case State::joining:
      return take_join(packet);
    case State::open: {
      auto request = decode_packet(packet.bytes);
      if (!request) {
        return request.error();
      }
      if (request->kind == PacketKind::map) {
        return take_map(*request);
      }
      if (request->kind == PacketKind::close) {
        end(*request->why);
        return {};
      }
      return Failure(errc::malformed, "a control packet that only the owner sends");
    }
    case State::closing:
    case State::gone:
      break;
  }
  return {};
}

Result<void> ShmInbound::take_greeting(const Packet& packet) {
  auto greeting = decode_greeting(packet.bytes);
  if (!greeting) {
    return greeting.error();
  }
  auto version = wire::negotiate(kVersions, greeting->versions);
  if (!version) {
    return version.error();
  }
  if (greeting->refusal || greeting->owner != node_.core.self() || !greeting->initiator) {
    return Failure(errc::malformed, "the greeting is not for this process");
  }
  meeting_ = {*version, greeting->initiator, greeting->owner, greeting->nonce, fresh_nonce()};
  Greeting answer;
  answer.initiator = meeting_.initiator;
  answer.owner = meeting_.owner;
  answer.nonce = meeting_.owner_nonce;
  answer.proof = prove(node_.core.secret(), Role::owner, meeting_);
  socket_.send(encode_greeting(answer));
  state_ = State::joining;
  return {};
}

Result<void> ShmInbound::take_join(Packet& packet) {
  auto join = decode_packet(packet.bytes);
  if (!join) {
    return join.error();
  }
  if (join->kind == PacketKind::close) {  // it did not accept our proof
    return *join->why;
  }
  if (join->kind != PacketKind::join || packet.descriptors.size() != 3) {
    return Failure(errc::malformed, "a join with three descriptors was expected");
  }
  if (!is_proof(node_.core.secret(), Role::initiator, meeting_, join->proof)) {
    return Failure(errc::not_authorised, "it does not know the secret of this job");
  }
  auto board = PeerBoard::map(packet.descriptors[0]);
  if (!board) {
    return board.error();
  }
  auto memory = MemoryFile::map(packet.descriptors[1], kChannelBytes, true, "the channel's memory");
  if (!memory) {
    return memory.error();
  }
  auto doorbell = PeerDoorbell::adopt(std::move(packet.descriptors[2]));
  if (!doorbell) {
    return doorbell.error();
  }
  auto own_board = duplicate(node_.board->descriptor(), "the board");
  auto own_doorbell = duplicate(node_.poller->doorbell(), "the doorbell");
  if (!own_board || !own_doorbell) {
    return own_board ? own_doorbell.error() : own_board.error();
  }
  // detach() looks at the peer's words from before it can see the board.
  watch_ = std::make_shared<ReaderWatch>(ReaderWatch{std::move(*process_), std::move(*board)});
  process_.reset();
  node_.domain.add_reader(watch_);
  auto admission = listener_.admit(*this, meeting_.initiator);
  if (!admission) {
    return admission.error();
  }
  shared_ = std::make_unique<Shared>(std::move(*memory), std::move(*doorbell), node_.core.regions(),
                                     node_.core.limits().frame_bytes);
  ControlPacket welcome;
  welcome.kind = PacketKind::welcome;
  welcome.channel = admission->channel;
  welcome.place = admission->place;
  welcome.name = node_.core.name();
  std::vector<FileDescriptor> descriptors;
  descriptors.push_back(std::move(*own_board));
  descriptors.push_back(std::move(*own_doorbell));
  alarm_.set(Liveness::between_beats(node_.core.limits()));
  state_ = State::open;
  open_.store(true, std::memory_order_release);
  send_packet(welcome, std::move(descriptors));
  return {};
}

Result<void> ShmInbound::take_map(const ControlPacket& request) {
  ControlPacket answer;
  answer.kind = PacketKind::segment;
  answer.segment = request.segment;
  answer.writable = request.writable;
  std::vector<FileDescriptor> descriptors;
  if (request.writable && !node_.domain.grants_writing(request.segment)) {
    answer.why = Failure(errc::access_denied, "no region in that segment may be written");
  } else if (auto opened = node_.allocator->open(request.segment, request.writable)) {
    answer.size = opened->size;
    descriptors.push_back(std::move(opened->descriptor));
    passed_.insert(request.segment);
  } else {
    answer.why = opened.error();
  }
  send_packet(answer, std::move(descriptors));
  return {};
}

void ShmInbound::retire_segment(std::uint32_t segment) noexcept {
  const std::lock_guard lock(retired_mutex_);
  retired_.push_back(segment);
  any_retired_.store(true, std::memory_order_release);
}

void ShmInbound::send_retired() {
  if (!any_retired_.load(std::memory_order_relaxed)) {
    return;
  }
  std::vector<std::uint32_t> retired;
  {
    const std::lock_guard lock(retired_mutex_);
    retired.swap(retired_);
    any_retired_.store(false, std::memory_order_relaxed);
  }
  for (const std::uint32_t segment : retired) {
    if (passed_.erase(segment) > 0) {
      ControlPacket packet;
      packet.kind = PacketKind::retire;
      packet.segment = segment;
      send_packet(packet);
    }
  }
}

}  // namespace ferry::shm
