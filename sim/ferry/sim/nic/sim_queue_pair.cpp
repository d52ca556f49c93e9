#include <ferry/sim/nic/sim_queue_pair.hpp>

#include <utility>

#include <fmt/format.h>

#include <ferry/sim/nic/network.hpp>
#include <ferry/sim/nic/nic.hpp>
#include <ferry/sim/nic/nic_watch.hpp>
#include <ferry/wire/endian.hpp>

namespace ferry::sim {
namespace {

using queue::Verb;

constexpr std::size_t kAddressBytes = 8;  // queue pair, process

}  // namespace

SimQueuePair::SimQueuePair(Nic& nic, const queue::QueuePairOptions& options, queue::QueueEvents& events)
    : nic_(nic),
      options_(options),
      events_(events),
      number_(nic.network().add(*this)),
      requester_(*this, nic),
      responder_(*this, nic) {}

SimQueuePair::~SimQueuePair() {
  kill();
  nic_.remove(*this);
  nic_.network().remove(*this);
}

ProcessNumber SimQueuePair::process() const noexcept {
  return nic_.process();
}

wire::Bytes SimQueuePair::address() const {
  wire::Bytes bytes;
  wire::extend(bytes, kAddressBytes);
  wire::store_little(bytes.data(), number_.value());
  wire::store_little(bytes.data() + sizeof(std::uint32_t), nic_.process().value());
  return bytes;
}

Result<void> SimQueuePair::connect(wire::ByteView other) {
  if (other.size() != kAddressBytes) {
    return Failure(errc::malformed, fmt::format("the address of a simulated queue pair has {} bytes, not {}",
                                                kAddressBytes, other.size()));
  }
  if (state_ != State::idle) {
    return Failure(errc::invalid_argument, "a queue pair is connected once");
  }
  remote_ = QueueNumber(wire::load_little<std::uint32_t>(other.data()));
  remote_process_ = ProcessNumber(wire::load_little<std::uint32_t>(other.data() + sizeof(std::uint32_t)));
  state_ = State::connected;
  requester_.begin();
  return {};
}

Result<void> SimQueuePair::post(std::span<const queue::WorkRequest> requests) {
  const NicProfile& profile = *nic_.options().profile;
  for (const queue::WorkRequest& request : requests) {
    const bool is_atomic = request.verb == Verb::fetch_add || request.verb == Verb::compare_swap;
    if (request.length > nic_.options().message) {
      return Failure(errc::invalid_argument, fmt::format("a request of {} bytes; the device takes {} at most",
                                                         request.length, nic_.options().message));
    }
    if (is_atomic && !profile.has_atomics) {
      return Failure(errc::unsupported, fmt::format("the profile {} has no atomics", profile.name));
    }
    if (request.verb == Verb::put && request.has_immediate && !profile.has_immediates) {
      return Failure(errc::unsupported, fmt::format("the profile {} has no immediates", profile.name));
    }
  }
  if (state_ == State::dead) {
    return {};
  }
  if (state_ == State::error) {
    for (const queue::WorkRequest& request : requests) {
      requester_.complete_flushed(request);
    }
    return {};
  }
  if (requests.size() > options_.requests - requester_.posted()) {
    return Failure(errc::resource_exhausted, fmt::format("{} requests are posted; the queue pair takes {} at most",
                                                         requester_.posted(), options_.requests));
  }
  for (const queue::WorkRequest& request : requests) {
    if (NicWatch* const watch = nic_.network().watch(); watch != nullptr && request.verb == Verb::send) {
      watch->on_send_posted(number_, process(), remote_process_, {request.local, request.length});
    }
    requester_.post(request);
  }
  return {};
}

Result<void> SimQueuePair::post_receive(std::uint64_t id, std::byte* local, std::size_t length, std::uint32_t) {
  if (state_ == State::dead) {
    return {};
  }
  if (state_ == State::error) {
    nic_.complete(*this, {.id = id, .status = queue::WorkStatus::flushed, .is_receive = true});
    return {};
  }
  if (responder_.receives() == options_.receives) {
    return Failure(errc::resource_exhausted,
                   fmt::format("{} receives are posted, as many as the queue pair takes", options_.receives));
  }
  responder_.post_receive(id, local, length);
  return {};
}

std::optional<std::uint32_t> SimQueuePair::progress() const noexcept {
  const NicProfile& profile = *nic_.options().profile;
  const bool can_tell = nic_.options().tells_progress && !profile.is_datagrams && profile.names_refusals;
  return can_tell ? std::optional(responder_.expected()) : std::nullopt;
}

void SimQueuePair::stop() noexcept {
  if (state_ == State::idle || state_ == State::connected) {
    requester_.fail(queue::WorkStatus::flushed);  // ends in enter_error()
  }
}

void SimQueuePair::enter_error() noexcept {
  if (state_ != State::dead) {
    state_ = State::error;
    responder_.stop();
  }
}

void SimQueuePair::lose(const Failure& why) noexcept {
  if (state_ != State::dead && loss_ == nullptr) {
    loss_ = std::make_unique<Loss>(this);
    loss_->why = why;
    nic_.schedule(*loss_, StepKind::poll, number_.value(), Duration::zero());
  }
}

void SimQueuePair::tell_loss(Step& step) noexcept {
  auto& loss = static_cast<Loss&>(step);
  loss.queue->stop();
  loss.queue->events_.on_queue_lost(*loss.queue, loss.why);
}

void SimQueuePair::kill() noexcept {
  state_ = State::dead;
  requester_.kill();
  responder_.kill();
  if (loss_ != nullptr) {
    nic_.withdraw(*loss_);
  }
}

void SimQueuePair::on_packet(Packet& packet) noexcept {
  if (remote_ != packet.header.from || state_ == State::dead || state_ == State::idle) {
    nic_.network().give_back(packet);
  } else if (packet.header.kind == PacketHeader::Kind::request) {
    responder_.on_request(packet);
  } else if (state_ == State::connected) {
    requester_.on_answer(packet);
  } else {
    nic_.network().give_back(packet);
  }
}

}  // namespace ferry::sim
