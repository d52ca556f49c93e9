#include <ferry/sim/nic/network.hpp>

#include <algorithm>

#include <ferry/base/check.hpp>
#include <ferry/sim/nic/sim_queue_pair.hpp>

namespace ferry::sim {
namespace {

constexpr std::uint64_t kLongestDelay = 64;   // latencies
constexpr std::uint64_t kUsualPacket = 4096;  // bytes

// Bytes that take airtime; those of ghosts are not in the packet.
std::uint64_t payload_of(const PacketHeader& header) noexcept {
  const bool carries = header.kind == PacketHeader::Kind::request
                           ? header.verb == queue::Verb::put || header.verb == queue::Verb::send
                           : header.kind == PacketHeader::Kind::response;
  return carries ? header.length : 0;
}

}  // namespace

// From `now` on, when it is free for it; returns when it is over.
TimePoint Network::Way::take(TimePoint now, Duration airtime, bool is_train) noexcept {
  TimePoint& until = is_train ? trains_until : usual_until;
  until = std::max(until, now) + airtime;
  if (!is_train) {
    trains_until = std::max(trains_until, now) + airtime;
  }
  return until;
}

Packet::Packet() noexcept : Step(&Network::arrive) {}

Network::Network(Scheduler& scheduler, const FabricOptions& options)
    : scheduler_(scheduler),
      options_(options),
      rates_{options.drop_one_in, options.duplicate_one_in, options.delay_one_in, options.stall_one_in} {}

Network::~Network() {
  for (const auto& packet : packets_.all()) {
    scheduler_.withdraw(*packet);
  }
}

Packet& Network::take_packet() {
  Packet& packet = packets_.take();
  packet.network = this;
  return packet;
}

void Network::give_back(Packet& packet) noexcept {
  packet.header = {};
  packets_.give_back(packet);
}

QueueNumber Network::add(SimQueuePair& end) {
  ends_.push_back(&end);
  return QueueNumber(static_cast<std::uint32_t>(ends_.size()));
}

void Network::remove(SimQueuePair& end) noexcept {
  ends_[end.number().value() - 1] = nullptr;
}

SimQueuePair* Network::find(QueueNumber number) const noexcept {
  const std::size_t index = std::size_t{number.value()} - 1;
  return index < ends_.size() ? ends_[index] : nullptr;
}

Network::Port& Network::port_of(ProcessNumber process) {
  if (ports_.size() <= process.value()) {
    ports_.resize(process.value() + std::size_t{1});
  }
  return ports_[process.value()];
}

bool Network::happens(ChoiceKind kind, std::uint64_t one_in, QueueNumber queue) noexcept {
  return one_in > 0 && scheduler_.choose(kind, 2, queue.value(), one_in) == 1;
}

const Network::Link& Network::find_link(ProcessNumber from, ProcessNumber to) const noexcept {
  static const Link usual;
  if (links_.empty()) {
    return usual;
  }
  const auto found = links_.find({from, to});
  return found == links_.end() ? usual : found->second.link;
}

void Network::send(Packet& packet, SimQueuePair& from) noexcept {
  const Link& link = find_link(from.process(), from.remote_process());
  scheduler_.fold(packet.header.sequence << 8 | static_cast<std::uint64_t>(packet.header.kind));
  scheduler_.fold(packet.header.length);
  if (link.is_cut || happens(ChoiceKind::drop, rates_.drop, from.number())) {
    give_back(packet);
  } else if (link.is_held) {
    links_[{from.process(), from.remote_process()}].held.push_back(&packet);
  } else {
    transmit(packet, from, link);
  }
}

void Network::transmit(Packet& packet, SimQueuePair& from, const Link& link) noexcept {
  const ProcessNumber to = from.remote_process();
  const std::uint64_t speed = link.bytes_per_microsecond == 0
                                  ? options_.bytes_per_microsecond
                                  : std::min(options_.bytes_per_microsecond, link.bytes_per_microsecond);
  const Duration airtime(static_cast<std::int64_t>(payload_of(packet.header) * 1000 / speed));
  // A NIC takes turns among its queue pairs: what carries nothing waits for no other's payload, and what fits a packet
  // of the usual size for none of those that stand for many (FabricOptions::mtu).
  const bool is_train = payload_of(packet.header) > kUsualPacket;
  TimePoint sent = scheduler_.now();
  if (airtime > Duration::zero()) {
    sent = port_of(from.process()).sends.take(sent, airtime, is_train);
  }
  TimePoint due = sent + options_.latency + link.latency;
  if (happens(ChoiceKind::delay, rates_.delay, from.number())) {
    due += options_.latency *
           static_cast<std::int64_t>(scheduler_.choose(ChoiceKind::latency, kLongestDelay, from.number().value()));
  }
  if (airtime > Duration::zero()) {
    due = port_of(to).takes.take(due - airtime, airtime, is_train);
  }
  due = from.behind_earlier_packets(due);
  if (happens(ChoiceKind::duplicate, rates_.duplicate, from.number())) {
    Packet& copy = take_packet();
    copy.header = packet.header;
    copy.bytes = packet.bytes;
    const auto later =
        static_cast<std::int64_t>(1 + scheduler_.choose(ChoiceKind::latency, kLongestDelay, from.number().value()));
    scheduler_.schedule(copy, StepKind::packet, to, packet.header.to.value(),
                        due - scheduler_.now() + options_.latency * later);
  }
  scheduler_.schedule(packet, StepKind::packet, to, packet.header.to.value(), due - scheduler_.now());
}

void Network::release(ProcessNumber from, ProcessNumber to) noexcept {
  const auto found = links_.find({from, to});
  if (found == links_.end()) {
    return;
  }
  found->second.link.is_held = false;
  for (Packet* packet : std::exchange(found->second.held, {})) {
    if (SimQueuePair* end = find(packet->header.from)) {
      transmit(*packet, *end, found->second.link);
    } else {
      give_back(*packet);
    }
  }
}

void Network::arrive(Step& step) noexcept {
  auto& packet = static_cast<Packet&>(step);
  Network& self = *packet.network;
  SimQueuePair* const end = self.find(packet.header.to);
  if (end == nullptr) {
    self.give_back(packet);
  } else {
    end->on_packet(packet);
  }
}

}  // namespace ferry::sim
