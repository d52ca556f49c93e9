#include <ferry/sim/nic/responder.hpp>

#include <algorithm>
#include <utility>

#include <ferry/sim/nic/network.hpp>
#include <ferry/sim/nic/nic.hpp>
#include <ferry/sim/nic/sim_queue_pair.hpp>

namespace ferry::sim {
namespace {

using queue::Verb;

constexpr std::uint64_t kAcknowledgeEvery = 16;  // packets of a long request

bool is_atomic(Verb verb) noexcept {
  return verb == Verb::fetch_add || verb == Verb::compare_swap;
}

}  // namespace

Responder::Responder(SimQueuePair& queue, Nic& nic) noexcept
    : queue_(queue), nic_(nic), inbound_(nic, *this, queue.number().value()) {}

void Responder::on_request(Packet& packet) noexcept {
  const PacketHeader& header = packet.header;
  if (!is_stopped_) {
    Flow& flow = flows_[header.flow];
    if (flow.is_refused) {
      // The refusal may have got lost.
      if (nic_.options().profile->is_datagrams && header.sequence >= flow.expected) {
        send(header.flow, flow.expected, PacketHeader::Kind::refusal, 0, {});
      }
    } else if (header.sequence < flow.expected) {
      again(flow, packet);
    } else if (header.sequence > flow.expected) {
      if (!std::exchange(flow.has_complained, true)) {
        send(header.flow, flow.expected, PacketHeader::Kind::out_of_sequence, 0, {});
      }
    } else {
      accept(flow, packet);
    }
  }
  nic_.network().give_back(packet);
}

Responder::Receive Responder::take_receive() {
  const Receive first = receives_[next_receive_++];
  if (next_receive_ * 2 > receives_.size()) {
    receives_.erase(receives_.begin(), receives_.begin() + static_cast<std::ptrdiff_t>(next_receive_));
    next_receive_ = 0;
  }
  return first;
}

void Responder::accept(Flow& flow, Packet& packet) noexcept {
  const PacketHeader& header = packet.header;
  flow.has_complained = false;
  const bool begins_send = header.verb == Verb::send && header.is_first;
  const bool tells =
      header.is_last && (header.verb == Verb::send || (header.verb == Verb::put && header.has_immediate));
  if ((begins_send || (tells && header.verb == Verb::put)) && receives() == 0) {
    send(header.flow, header.sequence, PacketHeader::Kind::receiver_not_ready, 0, {});
    return;
  }
  if (begins_send) {
    flow.receive = take_receive();
  }
  std::byte* at = nullptr;
  if (!reach(flow, packet, at)) {
    refuse(flow, header);
    return;
  }
  ++flow.expected;
  switch (header.verb) {
    case Verb::put:
    case Verb::send:
      place(packet, at);
      if (header.is_last || header.sequence % kAcknowledgeEvery == kAcknowledgeEvery - 1) {
        answer(flow, header, PacketHeader::Kind::acknowledgement, true);
      }
      break;
    case Verb::get:
      answer(flow, header, PacketHeader::Kind::response, false);
      begin(header, Arrival::Kind::read, at);
      break;
    case Verb::fetch_add:
    case Verb::compare_swap:
      answer(flow, header, PacketHeader::Kind::response, false);
      begin(header, Arrival::Kind::atomic, at);
      break;
    case Verb::flush:
      answer(flow, header, PacketHeader::Kind::response, false);
      begin(header, Arrival::Kind::barrier, at);
      break;
  }
  if (tells) {
    if (header.verb == Verb::put) {
      flow.receive = take_receive();
    }
    Arrival& entry = nic_.take_arrival();
    entry.kind = Arrival::Kind::completion;
    entry.flow = header.flow;
    entry.message = header.message;
    entry.invalidates = header.invalidates;
    entry.at = header.verb == Verb::send ? flow.receive.local : nullptr;
    entry.entry = {.id = flow.receive.id,
                   .is_receive = true,
                   .has_immediate = header.has_immediate,
                   .immediate = header.immediate,
                   .length = header.verb == Verb::send ? header.offset + header.length : 0};
    inbound_.arrive(entry);
  }
}

// Where the packet's bytes are, or go; null where there are none. False: it is refused.
bool Responder::reach(Flow& flow, const Packet& packet, std::byte*& at) noexcept {
  const PacketHeader& header = packet.header;
  if (header.verb == Verb::send) {
    at = flow.receive.local + header.offset;
    return header.offset + header.length <= flow.receive.length;
  }
  if (header.verb == Verb::flush || header.length == 0) {
    return true;
  }
  const Access needed = header.verb == Verb::put   ? Access::write
                        : header.verb == Verb::get ? Access::read
                                                   : Access::atomic;
  at = nic_.reach(header.remote, needed, header.length);
  return at != nullptr;
}

// Bytes toward memory, torn anywhere at a granule: the parts have no order.
void Responder::place(const Packet& packet, std::byte* at) noexcept {
  std::uint64_t done = 0;
  while (done < packet.header.length) {
    const std::uint64_t count =
        nic_.torn(at + done, packet.header.remote.address + done, packet.header.length - done, queue_.number().value());
    Arrival& arrival = nic_.take_arrival();
    arrival.kind = Arrival::Kind::write;
    arrival.flow = packet.header.flow;
    arrival.message = packet.header.message;
    arrival.at = at + done;
    arrival.length = count;
    if (!packet.bytes.empty()) {
      arrival.bytes.append(wire::ByteView(packet.bytes.data() + done, count));
    }
    done += count;
    inbound_.arrive(arrival);
  }
}

void Responder::begin(const PacketHeader& header, Arrival::Kind kind, std::byte* at) noexcept {
  Arrival& arrival = nic_.take_arrival();
  arrival.kind = kind;
  arrival.flow = header.flow;
  arrival.message = header.message;
  arrival.sequence = header.sequence;
  arrival.at = at;
  arrival.offset = header.remote.address;
  arrival.length = kind == Arrival::Kind::barrier ? 0 : header.length;
  arrival.verb = header.verb;
  arrival.operand = header.operand;
  arrival.expected = header.expected;
  inbound_.arrive(arrival);
}

// A packet that was executed comes again.
void Responder::again(Flow& flow, Packet& packet) noexcept {
  const PacketHeader& header = packet.header;
  const bool is_unanswered = std::any_of(flow.answers.begin(), flow.answers.end(), [&](const Answer& answer) {
    return answer.sequence == header.sequence && !answer.is_ready;
  });
  if (is_unanswered) {
    return;  // the answer is still to come
  }
  if (is_atomic(header.verb)) {
    if (const auto saved = flow.saved.find(header.sequence); saved != flow.saved.end()) {
      answer(flow, header, PacketHeader::Kind::response, false);
      Answer& last = flow.answers.back();
      last.bytes.append(wire::ByteView(reinterpret_cast<const std::byte*>(&saved->second), sizeof saved->second));
      last.length = sizeof saved->second;
      last.is_ready = true;
      send_ready(header.flow, flow);
    }
  } else if (header.verb == Verb::get || header.verb == Verb::flush) {
    std::byte* at = nullptr;
    if (!reach(flow, packet, at)) {
      // It was executed, and perhaps what is behind it. Where transport beneath the NIC loses nothing (iwarp), none
      // comes again, and a refusal would say that it was not executed.
      if (nic_.options().profile->names_refusals) {
        refuse(flow, header);
      }
      return;
    }
    answer(flow, header, PacketHeader::Kind::response, false);
    begin(header, header.verb == Verb::get ? Arrival::Kind::read : Arrival::Kind::barrier, at);
  } else {
    answer(flow, header, PacketHeader::Kind::acknowledgement, true);
  }
}

void Responder::answer(Flow& flow, const PacketHeader& header, PacketHeader::Kind kind, bool is_ready) noexcept {
  flow.answers.push_back({header.sequence, kind, is_ready, 0, {}});
  if (is_ready) {
    send_ready(header.flow, flow);
  }
}

void Responder::send_ready(std::uint64_t id, Flow& flow) noexcept {
  while (!flow.answers.empty() && flow.answers.front().is_ready) {
    const bool is_covered = flow.answers.front().kind == PacketHeader::Kind::acknowledgement &&
                            flow.answers.size() > 1 && flow.answers[1].is_ready &&
                            flow.answers[1].kind == PacketHeader::Kind::acknowledgement;
    Answer first = std::move(flow.answers.front());
    flow.answers.erase(flow.answers.begin());
    if (!is_covered) {
      send(id, first.sequence, first.kind, first.length, std::move(first.bytes));
    }
  }
}

void Responder::send(std::uint64_t flow, std::uint64_t sequence, PacketHeader::Kind kind, std::uint64_t length,
                     wire::Bytes bytes) noexcept {
  Packet& packet = nic_.network().take_packet();
  packet.header = {.kind = kind, .from = queue_.number(), .to = queue_.remote(), .flow = flow, .sequence = sequence};
  packet.header.length = length;
  packet.bytes = std::move(bytes);
  nic_.network().send(packet, queue_);
}

void Responder::answer_with(const Arrival& arrival, const std::byte* bytes, std::uint64_t length) noexcept {
  Flow& flow = flows_[arrival.flow];
  const auto found = std::find_if(flow.answers.begin(), flow.answers.end(), [&](const Answer& answer) {
    return answer.sequence == arrival.sequence && !answer.is_ready;
  });
  if (found == flow.answers.end()) {
    return;
  }
  found->length = length;
  if (length > 0 && bytes != nullptr) {
    found->bytes.append(wire::ByteView(bytes, length));
  }
  found->is_ready = true;
  send_ready(arrival.flow, flow);
}

void Responder::on_read(Arrival& arrival) noexcept {
  answer_with(arrival, arrival.bytes.empty() ? nullptr : arrival.bytes.data(), arrival.length);
}

void Responder::on_atomic(Arrival& arrival) noexcept {
  std::uint64_t old = 0;
  std::copy_n(arrival.bytes.data(), sizeof old, reinterpret_cast<std::byte*>(&old));
  Flow& flow = flows_[arrival.flow];
  flow.saved[arrival.sequence] = old;
  if (flow.saved.size() > 2 * nic_.options().reads) {
    flow.saved.erase(flow.saved.begin());
  }
  answer_with(arrival, arrival.bytes.data(), sizeof old);
}

void Responder::on_barrier(Arrival& arrival) noexcept {
  answer_with(arrival, nullptr, 0);
}

void Responder::on_entry(Arrival& arrival) noexcept {
  if (arrival.invalidates != 0) {
    nic_.memory().invalidate(arrival.invalidates);
  }
  nic_.note_send(queue_, arrival);
  nic_.complete(queue_, arrival.entry);
}

// Behind the answers to everything before it.
void Responder::refuse(Flow& flow, const PacketHeader& header) noexcept {
  flow.is_refused = true;
  has_refused_ = !nic_.options().profile->is_datagrams;
  answer(flow, header, PacketHeader::Kind::refusal, true);
}

void Responder::finish(const std::byte* at, std::uint64_t length) noexcept {
  if (inbound_.touches(at, length)) {
    inbound_.drain();
  }
}

void Responder::stop() noexcept {
  if (std::exchange(is_stopped_, true)) {
    return;
  }
  inbound_.drain();
  while (receives() > 0) {
    const Receive receive = take_receive();
    nic_.complete(queue_, {.id = receive.id, .status = queue::WorkStatus::flushed, .is_receive = true});
  }
}

void Responder::kill() noexcept {
  is_stopped_ = true;
  inbound_.clear();
  receives_.clear();
  next_receive_ = 0;
}

}  // namespace ferry::sim
