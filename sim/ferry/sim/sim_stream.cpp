#include <ferry/sim/sim_stream.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <ferry/queue/message_frame.hpp>
#include <ferry/sim/memory_watch.hpp>
#include <ferry/sim/sim_transport.hpp>
#include <ferry/transport/node_core.hpp>
#include <ferry/transport/peer.hpp>

namespace ferry::sim {
namespace {

constexpr Duration kFirstHold = std::chrono::microseconds(100);  // between looks whether a partition has ended
constexpr Duration kLongestHold = std::chrono::milliseconds(50);

// One end, as its process has it.
class SimLink final : public queue::ControlLink {
 public:
  SimLink(std::shared_ptr<SimStream> stream, SimStream::Side side) noexcept : stream_(std::move(stream)), side_(side) {}
  ~SimLink() override { stream_->close(side_); }

  ProcessId peer() const noexcept override { return stream_->peer_of(side_); }
  bool send(wire::Bytes&& message) noexcept override { return stream_->send(side_, std::move(message)); }
  void close(const Failure&) noexcept override { stream_->close(side_); }

 private:
  const std::shared_ptr<SimStream> stream_;
  const SimStream::Side side_;
};

// Where the peer listens: the first address of it that is one of this fabric.
std::optional<Port> port_of(const Peer& peer, const SimTransport& self) {
  if (peer.is_self()) {
    return self.port();
  }
  for (const Address& address : peer.contact().addresses) {
    std::uint32_t number = 0;
    const char* end = address.text.data() + address.text.size();
    if (address.transport == TransportId::sim && std::from_chars(address.text.data(), end, number).ptr == end &&
        number != 0) {
      return Port(number);
    }
  }
  return std::nullopt;
}

}  // namespace

SimStream::SimStream(SimFabric& fabric, SimTransport& from, const Peer& peer, queue::ControlEvents& events)
    : fabric_(fabric),
      peer_(peer),
      number_(fabric.next_stream()),
      ends_{End(this, dialer), End(this, acceptor)},
      handshake_(&SimStream::handshake_step, this, dialer) {
  ends_[dialer].transport = &from;
  ends_[dialer].events = &events;
  ends_[dialer].process = from.process();
  ends_[dialer].id = from.node().self();
  ends_[acceptor].id = peer.id();
}

SimStream::~SimStream() {
  abandon();
}

void SimStream::abandon() noexcept {
  if (!is_abandoned_) {
    end(dialer);
    end(acceptor);
    fabric_.scheduler().withdraw(handshake_);
    is_abandoned_ = true;
  }
}

ProcessId SimStream::peer_of(Side side) const noexcept {
  return ends_[other(side)].id;
}

bool SimStream::is_over() const noexcept {
  const auto is_quiet = [](const End& end) {
    return end.events == nullptr && !end.arrival.is_scheduled() && !end.news.is_scheduled();
  };
  return is_quiet(ends_[dialer]) && is_quiet(ends_[acceptor]) && !handshake_.is_scheduled();
}

void SimStream::dial() noexcept {
  fabric_.scheduler().schedule(handshake_, StepKind::connect, ends_[dialer].process, number_,
                               fabric_.delay(0, number_));
}

void SimStream::handshake_step(Step& step) noexcept {
  SimStream& self = *static_cast<Own&>(step).stream;
  End& end = self.ends_[dialer];
  if (!std::exchange(self.is_answered_, true)) {
    self.reach_peer();
    self.fabric_.scheduler().schedule(step, StepKind::connect, end.process, self.number_,
                                      self.fabric_.delay(0, self.number_) + self.answer_after_);
    return;
  }
  queue::ControlEvents* const events = end.events;
  if (self.refusal_) {
    self.end(dialer);
    end.transport = nullptr;
    events->on_control_closed(self.refusal_, self.refusal_state_);
    return;
  }
  self.is_open_ = true;
  if (self.ends_[dialer].size() > 0) {
    self.schedule_head(dialer);
  }
  events->on_control_open();
}

// The request has arrived where the peer should listen.
void SimStream::reach_peer() {
  SimTransport& from = *ends_[dialer].transport;
  const auto at = port_of(peer_, from);
  if (!at) {
    return refuse(Failure(errc::peer_unreachable, "no address of it on the simulated fabric is known"),
                  PeerState::unknown);
  }
  SimTransport* const owner = fabric_.at(*at);
  const bool was_reached = from.reached().contains(peer_.id());
  if (owner == nullptr) {
    return refuse(Failure(was_reached ? errc::peer_lost : errc::peer_unreachable,
                          fmt::format("nobody listens at sim:{}", at->value())),
                  was_reached ? PeerState::gone : PeerState::unknown);
  }
  if (fabric_.network().is_blocked(ends_[dialer].process, owner->process()) ||
      fabric_.network().is_blocked(owner->process(), ends_[dialer].process)) {
    answer_after_ = from.node().limits().handshake;
    return refuse(Failure(errc::peer_unreachable, fmt::format("nothing answers at sim:{}", at->value())),
                  PeerState::unknown);
  }
  if (owner->node().secret() != from.node().secret()) {
    return refuse(
        Failure(errc::not_authorised, fmt::format("the process at sim:{} belongs to another job", at->value())),
        PeerState::unknown);
  }
  if (owner->node().self() != peer_.id()) {
    return refuse(Failure(errc::stale_incarnation,
                          fmt::format("process {} now lives at sim:{}; process {} has ended",
                                      to_string(owner->node().self()), at->value(), to_string(peer_.id()))),
                  PeerState::other_incarnation);
  }
  End& end = ends_[acceptor];
  const bool accepted = owner->server().accept([&](queue::ControlEvents& events) {
    end.events = &events;
    return std::make_unique<SimLink>(shared_from_this(), acceptor);
  });
  if (!accepted) {
    return refuse(Failure(errc::peer_unreachable, fmt::format("the process at sim:{} is ending", at->value())),
                  PeerState::unknown);
  }
  end.transport = owner;
  end.process = owner->process();
  from.reached().insert(peer_.id());
}

void SimStream::refuse(const Failure& why, PeerState state) {
  refusal_ = why.with_peer(peer_.describe());
  refusal_state_ = state;
}

bool SimStream::send(Side from, wire::Bytes&& message) noexcept {
  if (ends_[from].events == nullptr) {
    return false;
  }
  End& to = ends_[other(from)];
  if (to.news.is_scheduled() && to.events == nullptr) {
    return false;
  }
  Scheduler& scheduler = fabric_.scheduler();
  scheduler.fold(message.size());
  to.last_due = std::max(to.last_due, saturating_add(scheduler.now(), fabric_.delay(message.size(), number_)));
  std::vector<std::uint64_t> relies_on;
  if (const MemoryWatch* const watch = fabric_.watch()) {
    const auto frame = fabric_.options().has_message_queues
                           ? queue::frame_of(message)
                           : std::optional(queue::MessageFrame{1, true, true, message});
    if (frame) {
      relies_on = watch->relied_on(ends_[from].process, to.process, *frame);
    }
  }
  to.queue.push_back({to.last_due, std::move(message), scheduler.here(), std::move(relies_on)});
  if (to.size() == 1 && (is_open_ || other(from) == acceptor)) {
    schedule_head(other(from));
  }
  return true;
}

void SimStream::schedule_head(Side to) noexcept {
  End& end = ends_[to];
  Scheduler& scheduler = fabric_.scheduler();
  const Duration delay = std::max(end.queue[end.head].due - scheduler.now(), end.held);
  scheduler.schedule(end.arrival, StepKind::message, end.process, number_, delay);
  Scheduler::set_cause(end.arrival, end.queue[end.head].cause);
}

bool SimStream::is_held_back(Side to) const noexcept {
  return fabric_.network().is_blocked(ends_[other(to)].process, ends_[to].process);
}

void SimStream::arrive(Step& step) noexcept {
  auto& own = static_cast<Own&>(step);
  SimStream& self = *own.stream;
  End& end = self.ends_[own.side];
  if (self.is_held_back(own.side)) {
    end.held = std::clamp(end.held * 2, kFirstHold, kLongestHold);
    self.schedule_head(own.side);
    return;
  }
  end.held = {};
  if (MemoryWatch* const watch = self.fabric_.watch()) {
    watch->message_arrives(end.queue[end.head].relies_on, self.ends_[other(own.side)].process, end.process);
  }
  wire::Bytes message = std::move(end.queue[end.head++].bytes);
  if (end.size() == 0) {
    end.queue.clear();
    end.head = 0;
  } else {
    if (end.head * 2 > end.queue.size()) {
      end.queue.erase(end.queue.begin(), end.queue.begin() + static_cast<std::ptrdiff_t>(end.head));
      end.head = 0;
    }
    self.schedule_head(own.side);
  }
  self.fabric_.scheduler().fold_data(message);
  if (end.events != nullptr) {
    end.events->on_control(std::move(message));
  }
}

// Keeps the oldest `count` messages under way to that side and drops those behind.
void SimStream::keep(Side to, std::size_t count) noexcept {
  End& end = ends_[to];
  if (count < end.size()) {
    end.queue.erase(end.queue.begin() + static_cast<std::ptrdiff_t>(end.head + count), end.queue.end());
  }
  if (end.size() == 0) {
    fabric_.scheduler().withdraw(end.arrival);
  }
}

// Nothing more is told there.
void SimStream::end(Side side) noexcept {
  End& end = ends_[side];
  end.events = nullptr;
  keep(side, 0);
  fabric_.scheduler().withdraw(end.news);
  fabric_.scheduler().withdraw(end.silence);
}

void SimStream::close(Side side) noexcept {
  if (ends_[side].events == nullptr) {
    return;
  }
  end(side);
  if (side == dialer) {
    fabric_.scheduler().withdraw(handshake_);
  }
  announce(other(side), Failure(errc::peer_lost, "the process closed the connection"), PeerState::unknown,
           fabric_.delay(0, number_));
  ends_[side].transport = nullptr;  // it may end now
}

void SimStream::killed(ProcessNumber process) noexcept {
  for (const Side side : {dialer, acceptor}) {
    End& dead = ends_[side];
    if (dead.process != process) {
      continue;
    }
    dead.transport = nullptr;
    if (dead.events == nullptr) {
      continue;
    }
    end(side);
    if (side == dialer) {
      fabric_.scheduler().withdraw(handshake_);
    }
    const Side left = other(side);
    const std::size_t sent = ends_[left].size();
    keep(left, sent - fabric_.scheduler().choose(ChoiceKind::remains, sent + 1, number_));
    announce(left, Failure(errc::peer_lost, "nothing has been heard from the process for the failure-detection time"),
             PeerState::gone, patience_of(left));
  }
}

Duration SimStream::patience_of(Side side) const noexcept {
  const SimTransport* const transport = ends_[side].transport;
  return transport == nullptr ? Duration::zero() : transport->node().limits().failure_detection;
}

void SimStream::announce(Side to, const Failure& why, PeerState state, Duration delay) noexcept {
  End& end = ends_[to];
  if (end.events == nullptr || end.news.is_scheduled()) {
    return;
  }
  const SimTransport* const teller = ends_[other(to)].transport;
  end.why = teller == nullptr ? why : why.with_peer(teller->node().name());
  end.state = state;
  const Duration behind = std::max(end.last_due - fabric_.scheduler().now(), delay);
  fabric_.scheduler().schedule(end.news, StepKind::end_channel, end.process, number_, behind);
}

void SimStream::tell(Step& step) noexcept {
  auto& own = static_cast<Own&>(step);
  SimStream& self = *own.stream;
  End& end = self.ends_[own.side];
  if (end.size() > 0) {  // due at this very instant, or held back: they come first
    self.fabric_.scheduler().schedule(end.news, StepKind::end_channel, end.process, self.number_,
                                      std::max(end.held, Duration(1)));
    return;
  }
  queue::ControlEvents* const events = end.events;
  self.end(own.side);
  end.transport = nullptr;
  events->on_control_closed(end.why, end.state);
}

void SimStream::fall_silent(ProcessNumber from, ProcessNumber to) noexcept {
  for (const Side side : {dialer, acceptor}) {
    End& hears = ends_[side];
    if (hears.process == to && ends_[other(side)].process == from && hears.events != nullptr &&
        !hears.silence.is_scheduled()) {
      fabric_.scheduler().schedule(hears.silence, StepKind::end_channel, to, number_, patience_of(side));
    }
  }
}

void SimStream::speak_again(ProcessNumber from, ProcessNumber to) noexcept {
  for (const Side side : {dialer, acceptor}) {
    if (ends_[side].process == to && ends_[other(side)].process == from) {
      fabric_.scheduler().withdraw(ends_[side].silence);
    }
  }
}

// Nothing has been heard for the failure-detection time. The other end is told once something can reach it.
void SimStream::give_up(Step& step) noexcept {
  auto& own = static_cast<Own&>(step);
  SimStream& self = *own.stream;
  queue::ControlEvents* const events = self.ends_[own.side].events;
  if (events == nullptr) {
    return;
  }
  const Failure why(errc::peer_lost, "nothing has been heard from the process for the failure-detection time");
  self.end(own.side);
  if (own.side == dialer) {
    self.fabric_.scheduler().withdraw(self.handshake_);
  }
  self.announce(other(own.side), Failure(errc::peer_lost, "the process has given the connection up"),
                PeerState::unknown, self.fabric_.delay(0, self.number_));
  self.ends_[own.side].transport = nullptr;
  events->on_control_closed(why, PeerState::unknown);
}

std::unique_ptr<queue::ControlLink> SimDialer::dial(queue::ControlEvents& events) noexcept {
  auto stream = std::make_shared<SimStream>(transport_.fabric(), transport_, peer_, events);
  transport_.fabric().add(stream);
  stream->dial();
  return std::make_unique<SimLink>(std::move(stream), SimStream::dialer);
}

std::string SimDialer::describe() const {
  const auto at = port_of(peer_, transport_);
  return at ? fmt::format("simulated fabric, sim:{}", at->value()) : "simulated fabric";
}

}  // namespace ferry::sim
