#include <ferry/sim/nic/network.hpp>

#include <algorithm>

#include <ferry/base/check.hpp>
#include <ferry/sim/nic/sim_queue_pair.hpp>

namespace ferry::sim {
namespace {

constexpr std::uint64_t kLongestDelay = 64;  // latencies
constexpr std::size_t kKeptBytes = 16384;    // of buffer that a free packet keeps

}  // namespace

Packet::Packet() noexcept : Step(&Network::arrive) {}

Network::Network(Scheduler& scheduler, const FabricOptions& options) : scheduler_(scheduler), options_(options) {}

Network::~Network() {
  for (const auto& packet : all_) {
    scheduler_.withdraw(*packet);
  }
}

Packet& Network::take_packet() {
  if (free_.empty()) {
    all_.push_back(std::make_unique<Packet>());
    all_.back()->network = this;
    return *all_.back();
  }
  Packet& packet = *free_.back();
  free_.pop_back();
  return packet;
}

void Network::give_back(Packet& packet) noexcept {
  if (packet.bytes.capacity() > kKeptBytes) {
    packet.bytes = wire::Bytes();
  }
  packet.bytes.clear();
  packet.header = {};
  free_.push_back(&packet);
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

void Network::send(Packet& packet, SimQueuePair& from) noexcept {
  const ProcessNumber to = from.remote_process();
  scheduler_.fold(packet.header.sequence << 8 | static_cast<std::uint64_t>(packet.header.kind));
  scheduler_.fold(packet.header.length);
  if (is_cut(from.process(), to) || happens(ChoiceKind::drop, options_.drop_one_in, from.number())) {
    give_back(packet);
    return;
  }
  const Duration airtime(static_cast<std::int64_t>(packet.bytes.size() * 1000 / options_.bytes_per_microsecond));
  TimePoint& sends_until = port_of(from.process()).sends_until;
  sends_until = std::max(sends_until, scheduler_.now()) + airtime;
  TimePoint due = sends_until + options_.latency;
  if (happens(ChoiceKind::delay, options_.delay_one_in, from.number())) {
    due += options_.latency *
           static_cast<std::int64_t>(scheduler_.choose(ChoiceKind::latency, kLongestDelay, from.number().value()));
  }
  TimePoint& takes_until = port_of(to).takes_until;
  if (takes_until > due - airtime) {
    due = takes_until + airtime;
  }
  takes_until = std::max(takes_until, due);
  due = from.behind_earlier_packets(due);
  if (happens(ChoiceKind::duplicate, options_.duplicate_one_in, from.number())) {
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
