#include <ferry/sim/nic/requester.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

#include <ferry/base/check.hpp>
#include <ferry/sim/nic/network.hpp>
#include <ferry/sim/nic/nic.hpp>
#include <ferry/sim/nic/sim_queue_pair.hpp>

namespace ferry::sim {
namespace {

using queue::Verb;
using queue::WorkStatus;

// It is answered by more than an acknowledgement, each packet by its own.
bool has_response(Verb verb) noexcept {
  return verb != Verb::put && verb != Verb::send;
}
bool is_get_or_atomic(Verb verb) noexcept {
  return verb == Verb::get || verb == Verb::fetch_add || verb == Verb::compare_swap;
}

}  // namespace

Requester::Requester(SimQueuePair& queue, Nic& nic) noexcept
    : queue_(queue),
      nic_(nic),
      results_(nic, *this, queue.number().value()),
      transmit_(&Requester::transmit_step, this),
      retry_(&Requester::retry_step, this) {}

Requester::~Requester() {
  kill();
}

void Requester::kill() noexcept {
  results_.clear();
  nic_.withdraw(transmit_);
  nic_.withdraw(retry_);
  for (Works* works : {&works_, &spare_}) {
    works->clear_and_dispose([](Work* work) { delete work; });
  }
  told_ = 0;
}

Requester::Work& Requester::take_work() {
  if (spare_.empty()) {
    return *new Work;
  }
  Work& work = spare_.front();
  spare_.pop_front();
  work.own = {};
  work.copy.clear();
  work.early.clear();
  work.is_told = false;
  return work;
}

void Requester::give_back(Work& work) noexcept {
  if (works_.empty()) {
    spare_.clear_and_dispose([](Work* spare) { delete spare; });
  }
  if (!works_.empty() && spare_.size() < kSpares) {
    spare_.push_front(work);
  } else {
    delete &work;
  }
}

void Requester::post(const queue::WorkRequest& request) {
  const std::size_t mtu = nic_.options().mtu;
  const bool is_one = request.verb == Verb::fetch_add || request.verb == Verb::compare_swap;
  Work& work = take_work();
  work.request = request;
  work.number = ++last_number_;
  work.packets = is_one ? 1 : std::max<std::uint64_t>(1, (request.length + mtu - 1) / mtu);
  work.results = has_response(request.verb) ? work.packets : 0;
  work.flow = nic_.options().profile->is_datagrams ? &work.own : &stream_;
  if (nic_.options().profile->is_datagrams) {
    work.own.id = work.number;
  }
  work.first = work.flow->end;
  work.flow->end += work.packets;
  works_.push_back(work);
  read_early(work);
  kick();
}

// A put or send of one packet, whose bytes may be read before those of earlier ones, sometimes is.
void Requester::read_early(Work& work) noexcept {
  const queue::WorkRequest& request = work.request;
  const litmus::Profile& order = litmus::profile_of(nic_.options().profile->order);
  if (has_response(request.verb) || request.fenced || work.packets > 1 || request.length == 0 || works_.size() == 1 ||
      nic_.network().is_ghost(request.local, request.length) ||
      order.row(litmus::SubAction::put_read).put_reads != litmus::Extent::none ||
      nic_.choose(ChoiceKind::early, 4, queue_.number()) != 3 ||
      results_.holds_back_put(request.local, request.length)) {
    return;
  }
  work.early.append(wire::ByteView(request.local, request.length));
}

void Requester::kick() noexcept {
  if (!transmit_.is_scheduled() && queue_.is_connected() && !waits_for_memory_ && next_to_send() != nullptr) {
    nic_.schedule(transmit_, StepKind::sample, queue_.number().value(), nic_.stall(queue_.number()));
  }
}

// The oldest that has packets to send; only datagrams may pass one that cannot go on.
Requester::Work* Requester::next_to_send() noexcept {
  for (Work& work : works_) {
    const Flow& flow = *work.flow;
    if (flow.sent >= work.first + work.packets) {
      continue;
    }
    if (may_send(work)) {
      return &work;
    }
    if (!nic_.options().profile->is_datagrams) {
      return nullptr;
    }
  }
  return nullptr;
}

bool Requester::may_send(const Work& work) const noexcept {
  const Flow& flow = *work.flow;
  if (flow.sent - flow.acked >= nic_.options().window || flow.paused_until > nic_.now()) {
    return false;
  }
  if (flow.sent > work.first) {
    return true;  // it has begun
  }
  std::size_t reads = 0;
  for (const Work& earlier : works_) {
    if (&earlier == &work) {
      break;
    }
    reads += is_get_or_atomic(earlier.request.verb) && !is_finished(earlier) ? 1U : 0U;
  }
  return (!work.request.fenced || reads == 0) && (!is_get_or_atomic(work.request.verb) || reads < nic_.options().reads);
}

void Requester::transmit_step(Step& step) noexcept {
  Requester& self = *static_cast<Own&>(step).requester;
  if (Work* work = self.next_to_send()) {
    if (!self.send_next(*work)) {
      self.waits_for_memory_ = true;  // on_progress goes on
      return;
    }
    self.watch();
    self.retire();
    self.kick();
  }
}

// False: the local bytes cannot be read yet.
bool Requester::send_next(Work& work) noexcept {
  const queue::WorkRequest& request = work.request;
  Flow& flow = *work.flow;
  const std::uint64_t index = flow.sent - work.first;
  const std::uint64_t offset = index * nic_.options().mtu;
  const std::uint64_t length = std::min<std::uint64_t>(nic_.options().mtu, request.length - offset);
  const bool carries = !has_response(request.verb);
  const bool is_read = !work.early.empty() || offset < work.copy.size();
  if (carries && !is_read && results_.holds_back_put(request.local + offset, length)) {
    return false;
  }
  Network& network = nic_.network();
  Packet& packet = network.take_packet();
  packet.header = {.kind = PacketHeader::Kind::request,
                   .verb = request.verb,
                   .is_first = index == 0,
                   .is_last = index + 1 == work.packets,
                   .has_immediate = request.has_immediate,
                   .immediate = request.immediate,
                   .invalidates = request.invalidates,
                   .from = queue_.number(),
                   .to = queue_.remote(),
                   .flow = flow.id,
                   .sequence = flow.sent,
                   .message = work.number,
                   .remote = {request.remote.key, request.remote.address + offset},
                   .offset = offset,
                   .length = length,
                   .operand = request.operand,
                   .expected = request.expected};
  if (carries && length > 0) {
    if (!work.early.empty()) {
      packet.bytes = std::exchange(work.early, {});
    } else if (offset < work.copy.size()) {  // it was sent before
      packet.bytes.append(wire::ByteView(work.copy.data() + offset, length));
    } else if (!network.is_ghost(request.local + offset, length)) {
      wire::extend(packet.bytes, length);
      std::memcpy(packet.bytes.data(), request.local + offset, length);
    }
  }
  if (carries && nic_.options().profile->completes_unaccepted && offset == work.copy.size()) {
    work.copy.append(packet.bytes);
  }
  ++flow.sent;
  network.send(packet, queue_);
  return true;
}

// Looks from time to time whether anything was acknowledged.
void Requester::watch() noexcept {
  if (!retry_.is_scheduled()) {
    last_progress_ = nic_.now();
    nic_.schedule(retry_, StepKind::retry, queue_.number().value(), nic_.options().acknowledgement);
  }
}

void Requester::retry_step(Step& step) noexcept {
  Requester& self = *static_cast<Own&>(step).requester;
  const TimePoint now = self.nic_.now();
  TimePoint next = kNever;
  for (Work& work : self.works_) {
    Flow& flow = *work.flow;
    if (flow.paused_until > now) {
      next = std::min(next, flow.paused_until);
      continue;
    }
    flow.paused_until = {};
    if (flow.sent > flow.acked) {
      next = std::min(next, self.last_progress_ + self.nic_.options().acknowledgement);
    }
  }
  if (next <= now) {
    self.time_out();
    return;
  }
  if (next != kNever) {
    self.nic_.schedule(step, StepKind::retry, self.queue_.number().value(), next - now);
  }
  self.kick();
}

void Requester::time_out() noexcept {
  if (++retries_ > nic_.options().retries) {
    fail(WorkStatus::unreachable);
    return;
  }
  for (Work& work : works_) {
    work.flow->sent = std::min(work.flow->sent, work.flow->acked);
  }
  last_progress_ = nic_.now();
  nic_.schedule(retry_, StepKind::retry, queue_.number().value(), nic_.options().acknowledgement);
  kick();
}

Requester::Work* Requester::work_of(const PacketHeader& header) noexcept {
  for (Work& work : works_) {
    if (work.flow->id == header.flow && header.sequence >= work.first && header.sequence < work.first + work.packets) {
      return &work;
    }
  }
  return nullptr;
}

// All before `upto` were acknowledged, unless one of them needs a response that got lost: false; they are sent again.
bool Requester::acknowledge(Work& work, std::uint64_t upto) noexcept {
  Flow& flow = *work.flow;
  for (Work& earlier : works_) {
    if (earlier.flow != &flow || !has_response(earlier.request.verb) || earlier.first + earlier.packets <= flow.acked) {
      continue;
    }
    const std::uint64_t lost = std::max(earlier.first, flow.acked);
    if (lost >= upto) {
      break;
    }
    advance(flow, lost);
    go_back(flow, lost);
    return false;
  }
  advance(flow, upto);
  return true;
}

void Requester::advance(Flow& flow, std::uint64_t acked) noexcept {
  if (acked > flow.acked) {
    flow.acked = acked;
    flow.sent = std::max(flow.sent, acked);
    flow.paused_until = {};
    flow.pauses = 0;
    last_progress_ = nic_.now();
    retries_ = 0;
  }
}

void Requester::go_back(Flow& flow, std::uint64_t sequence) noexcept {
  flow.sent = std::min(flow.sent, std::max(sequence, flow.acked));
}

void Requester::on_answer(Packet& packet) noexcept {
  const PacketHeader& header = packet.header;
  Work* const work = work_of(header);
  if (work != nullptr && header.sequence >= work->flow->acked) {
    Flow& flow = *work->flow;
    switch (header.kind) {
      case PacketHeader::Kind::acknowledgement:
        acknowledge(*work, header.sequence + 1);
        break;
      case PacketHeader::Kind::response:
        if (acknowledge(*work, header.sequence)) {
          advance(flow, header.sequence + 1);
          take_response(*work, packet);
        }
        break;
      case PacketHeader::Kind::out_of_sequence:
        if (acknowledge(*work, header.sequence)) {
          go_back(flow, header.sequence);
        }
        break;
      case PacketHeader::Kind::receiver_not_ready:
        if (acknowledge(*work, header.sequence)) {
          go_back(flow, header.sequence);
          pause(flow);
        }
        break;
      case PacketHeader::Kind::refusal:
        if (acknowledge(*work, header.sequence)) {
          refuse(*work);
        }
        break;
      case PacketHeader::Kind::request:
        break;
    }
  }
  nic_.network().give_back(packet);
  retire();
  kick();
}

// The other end has no receive: it is tried again later.
void Requester::pause(Flow& flow) noexcept {
  if (++flow.pauses > nic_.options().receiver_retries && !queue_.options().endless_rnr_retry) {
    fail(WorkStatus::receiver_not_ready);
    return;
  }
  flow.paused_until = nic_.now() + nic_.options().receiver_pause;
  last_progress_ = nic_.now();
  retries_ = 0;
  nic_.withdraw(retry_);
  nic_.schedule(retry_, StepKind::retry, queue_.number().value(), nic_.options().receiver_pause);
}

void Requester::take_response(Work& work, Packet& packet) noexcept {
  const std::uint64_t offset = (packet.header.sequence - work.first) * nic_.options().mtu;
  std::uint64_t at = 0;
  for (;;) {
    const std::uint64_t left = packet.header.length - at;
    const std::uint64_t count = nic_.torn(work.request.local + offset + at, offset + at, left, queue_.number().value());
    Arrival& arrival = nic_.take_arrival();
    arrival.kind = Arrival::Kind::result;
    arrival.flow = work.flow->id;
    arrival.message = work.number;
    arrival.at = work.request.local + offset + at;
    arrival.length = count;
    if (!packet.bytes.empty()) {
      arrival.bytes.append(wire::ByteView(packet.bytes.data() + at, count));
    }
    at += count;
    const bool is_last = at == packet.header.length;
    work.results += is_last ? 0 : 1;
    results_.arrive(arrival);
    if (is_last) {
      return;
    }
  }
}

void Requester::on_result(Arrival& arrival) noexcept {
  for (Work& work : works_) {
    if (work.number == arrival.message) {
      --work.results;
      return;
    }
  }
}

// Something in local memory has changed, or a chunk of a request has finished.
void Requester::on_progress() noexcept {
  waits_for_memory_ = false;
  retire();
  kick();
}

void Requester::on_entry(Arrival& arrival) noexcept {
  nic_.complete(queue_, arrival.entry);
}

void Requester::refuse(Work& work) noexcept {
  if (nic_.options().profile->is_datagrams) {
    end(work, WorkStatus::remote_refusal);
  } else if (nic_.options().profile->names_refusals) {
    results_.drain();
    retire();
    fail(WorkStatus::remote_refusal);
  } else {
    queue_.lose(Failure(errc::peer_lost, "the other end has closed the queue pair: it refused a request"));
    fail(WorkStatus::flushed);
  }
}

// Of a put, the other end has accepted all of it.
bool Requester::is_finished(const Work& work) const noexcept {
  return has_response(work.request.verb) ? work.results == 0 : work.flow->acked >= work.first + work.packets;
}

// Its completion may be told.
bool Requester::is_complete(const Work& work) const noexcept {
  const bool may_be_early = work.request.verb == Verb::put && nic_.options().profile->completes_unaccepted;
  return is_finished(work) || (may_be_early && work.flow->sent >= work.first + work.packets);
}

void Requester::retire() noexcept {
  if (std::exchange(is_retiring_, true)) {
    return;
  }
  for (auto at = works_.begin(); at != works_.end();) {
    Work& work = *at++;
    if (is_complete(work)) {
      tell_once(work, WorkStatus::success);
      if (is_finished(work)) {
        remove(work);
      }
    } else if (!nic_.options().profile->is_datagrams) {
      break;
    }
  }
  is_retiring_ = false;
}

void Requester::end(Work& work, WorkStatus status) noexcept {
  tell_once(work, status);
  remove(work);
}

void Requester::tell_once(Work& work, WorkStatus status) noexcept {
  if (!std::exchange(work.is_told, true)) {
    ++told_;
    tell(work.request, work.flow->id, status);
  }
}

void Requester::remove(Work& work) noexcept {
  --told_;
  works_.erase(works_.iterator_to(work));
  give_back(work);
}

void Requester::tell(const queue::WorkRequest& request, std::uint64_t flow, WorkStatus status) noexcept {
  if (!request.signaled && status == WorkStatus::success) {
    return;
  }
  Arrival& arrival = nic_.take_arrival();
  arrival.kind = Arrival::Kind::completion;
  arrival.flow = flow;
  arrival.entry = {.id = request.id, .status = status};
  results_.arrive(arrival);
}

void Requester::complete_flushed(const queue::WorkRequest& request) noexcept {
  tell(request, stream_.id, WorkStatus::flushed);
}

queue::Acceptance Requester::acceptance(std::uint64_t id, std::uint32_t expected) const noexcept {
  using queue::Acceptance;
  const auto found = std::find_if(failed_.begin(), failed_.end(), [id](const Failed& each) { return each.id == id; });
  if (found == failed_.end()) {
    return Acceptance::whole;
  }
  const auto accepted = static_cast<std::int32_t>(expected - static_cast<std::uint32_t>(found->first));
  return accepted <= 0                                           ? Acceptance::none
         : static_cast<std::uint64_t>(accepted) < found->packets ? Acceptance::part
                                                                 : Acceptance::whole;
}

void Requester::fail(WorkStatus first) noexcept {
  results_.drain();
  retire();
  nic_.withdraw(transmit_);
  nic_.withdraw(retry_);
  is_retiring_ = true;
  for (const Work& work : works_) {
    if (!work.is_told) {
      failed_.push_back({work.request.id, work.first, work.packets});
    }
  }
  while (!works_.empty()) {
    end(works_.front(), std::exchange(first, WorkStatus::flushed));
  }
  is_retiring_ = false;
  queue_.enter_error();
}

}  // namespace ferry::sim
