#include <ferry/sim/nic/arrival_queue.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

#include <ferry/base/check.hpp>
#include <ferry/sim/nic/nic.hpp>

namespace ferry::sim {
namespace {

using litmus::Extent;
using litmus::SubAction;

bool touches(const Arrival& arrival, const std::byte* at, std::uint64_t length) noexcept {
  return arrival.at < at + length && at < arrival.at + arrival.length;
}

bool is_held_back(Extent extent, const Arrival& by, const std::byte* at, std::uint64_t length) noexcept {
  return extent == Extent::all || (extent == Extent::same_location && touches(by, at, length));
}
bool is_held_back(Extent extent, const Arrival& by, const Arrival& arrival) noexcept {
  return is_held_back(extent, by, arrival.at, arrival.length);
}

SubAction action_of(const Arrival& arrival) noexcept {
  switch (arrival.kind) {
    case Arrival::Kind::read:
      return SubAction::get_read;
    case Arrival::Kind::atomic:
      return SubAction::atomic_read;
    case Arrival::Kind::result:
      return SubAction::get_result;
    default:
      return SubAction::put_write;
  }
}

bool closes(const Arrival& arrival) noexcept {
  return arrival.kind == Arrival::Kind::completion || arrival.kind == Arrival::Kind::barrier;
}

}  // namespace

Arrival::Arrival() noexcept : Step(&ArrivalQueue::step) {}

ArrivalQueue::ArrivalQueue(Nic& nic, ArrivalEvents& events, std::uint64_t queue) noexcept
    : nic_(nic), events_(events), profile_(litmus::profile_of(nic.options().profile->order)), queue_(queue) {}

ArrivalQueue::~ArrivalQueue() {
  clear();
}

void ArrivalQueue::arrive(Arrival& arrival) noexcept {
  arrival.queue = this;
  arrived_.push_back(arrival);
  consider(arrival);
  reconsider();
}

bool ArrivalQueue::is_free_of_writes(const Arrival& arrival, Extent extent) const noexcept {
  return extent == Extent::none || std::none_of(writes_.begin(), writes_.end(), [&](const Arrival& write) {
           return write.is_data() && write.flow == arrival.flow && is_held_back(extent, write, arrival);
         });
}

bool ArrivalQueue::may_go_on(const Arrival& arrival) const noexcept {
  return arrival.is_on_its_way ? may_commit(arrival) : may_act(arrival);
}

bool ArrivalQueue::may_act(const Arrival& arrival) const noexcept {
  if (arrival.has_unit) {
    return true;
  }
  const litmus::Profile::Row& row = profile_.row(action_of(arrival));
  const bool looks_at_memory = arrival.kind == Arrival::Kind::read || arrival.kind == Arrival::Kind::atomic;
  if (looks_at_memory && !is_free_of_writes(arrival, row.writes_under_way)) {
    return false;
  }
  for (const Arrival& earlier : arrived_) {
    if (&earlier == &arrival) {
      break;
    }
    if (earlier.flow != arrival.flow) {
      continue;
    }
    if (closes(arrival)) {
      if (earlier.kind != Arrival::Kind::read) {
        return false;
      }
      continue;
    }
    if (earlier.message == arrival.message) {
      continue;
    }
    const Extent extent = earlier.kind == Arrival::Kind::write    ? row.put_writes
                          : earlier.kind == Arrival::Kind::atomic ? row.atomic_writes
                          : earlier.kind == Arrival::Kind::result ? row.results
                                                                  : Extent::none;
    if (is_held_back(extent, earlier, arrival)) {
      return false;
    }
  }
  return arrival.kind != Arrival::Kind::atomic || nic_.may_take_unit(*this);
}

bool ArrivalQueue::may_commit(const Arrival& arrival) const noexcept {
  for (const Arrival& earlier : writes_) {
    if (&earlier == &arrival) {
      return true;
    }
    if (earlier.flow == arrival.flow &&
        (closes(arrival) || closes(earlier) || is_held_back(profile_.commits, earlier, arrival))) {
      return false;
    }
  }
  return true;
}

// For what came before it, which is not held any longer.
void ArrivalQueue::wait(Arrival& arrival) noexcept {
  if (!std::exchange(arrival.waits, true)) {
    ++waiting_;
  }
  hurry();
}

// Acts, now or later, if nothing holds it back.
void ArrivalQueue::consider(Arrival& arrival) noexcept {
  if (!may_go_on(arrival)) {
    wait(arrival);
    return;
  }
  if (arrival.waits) {
    arrival.waits = false;
    --waiting_;
  }
  const Nic::Pause pause = nic_.pause(arrival, queue_);
  if (pause.delay == Duration::zero() || (pause.is_hold && waiting_ > 0)) {
    act(arrival);
    return;
  }
  if (pause.is_hold) {
    arrival.is_held = true;
    ++held_;
  }
  nic_.schedule(arrival, arrival.kind == Arrival::Kind::read ? StepKind::sample : StepKind::place, queue_, pause.delay);
}

void ArrivalQueue::step(Step& step) noexcept {
  auto& arrival = static_cast<Arrival&>(step);
  ArrivalQueue& self = *arrival.queue;
  if (arrival.is_held) {
    arrival.is_held = false;
    --self.held_;
  }
  if (self.may_go_on(arrival)) {
    self.act(arrival);
  } else {
    self.wait(arrival);
  }
  self.reconsider();
}

void ArrivalQueue::act(Arrival& arrival) noexcept {
  if (arrival.is_on_its_way) {
    commit(arrival);
    return;
  }
  switch (arrival.kind) {
    case Arrival::Kind::read:
      return sample(arrival);
    case Arrival::Kind::atomic:
      return arrival.has_unit ? write_word(arrival) : read_word(arrival);
    default:
      return begin_way(arrival);
  }
}

// A read, torn anywhere at a granule: the rest follows in a step of its own.
void ArrivalQueue::sample(Arrival& arrival) noexcept {
  const std::uint64_t count = is_draining_ ? arrival.length - arrival.taken
                                           : nic_.torn(arrival.at + arrival.taken, arrival.offset + arrival.taken,
                                                       arrival.length - arrival.taken, queue_);
  if (count > 0 && !nic_.network().is_ghost(arrival.at, arrival.length)) {
    wire::extend(arrival.bytes, count);
    std::memcpy(arrival.bytes.data() + arrival.taken, arrival.at + arrival.taken, count);
    nic_.note_read(arrival.at + arrival.taken, count, queue_);
  }
  arrival.taken += count;
  if (arrival.taken < arrival.length) {
    nic_.schedule(arrival, StepKind::sample, queue_, nic_.pause(arrival, queue_).delay);
    return;
  }
  arrived_.erase(arrived_.iterator_to(arrival));
  events_.on_read(arrival);
  give_back(arrival);
}

void ArrivalQueue::read_word(Arrival& arrival) noexcept {
  nic_.take_unit(*this);
  arrival.has_unit = true;
  wire::extend(arrival.bytes, sizeof(std::uint64_t));
  std::memcpy(arrival.bytes.data(), arrival.at, sizeof(std::uint64_t));
  if (nic_.options().exact_atomics || is_draining_) {
    write_word(arrival);
  } else {
    consider(arrival);
  }
}

void ArrivalQueue::write_word(Arrival& arrival) noexcept {
  std::uint64_t old = 0;
  std::memcpy(&old, arrival.bytes.data(), sizeof old);
  const bool adds = arrival.verb == queue::Verb::fetch_add;
  if (adds || old == arrival.expected) {
    const std::uint64_t value = adds ? old + arrival.operand : arrival.operand;
    std::memcpy(arrival.at, &value, sizeof value);
    nic_.fold_data(arrival.at, sizeof value);
    nic_.note_write(arrival, queue_);
  }
  arrival.has_unit = false;
  arrived_.erase(arrived_.iterator_to(arrival));
  nic_.release_unit();
  events_.on_atomic(arrival);
  give_back(arrival);
}

void ArrivalQueue::begin_way(Arrival& arrival) noexcept {
  arrived_.erase(arrived_.iterator_to(arrival));
  writes_.push_back(arrival);
  arrival.is_on_its_way = true;
  if (arrival.kind == Arrival::Kind::result) {
    events_.on_result(arrival);
  }
  if (!is_draining_) {
    consider(arrival);
  }
}

void ArrivalQueue::commit(Arrival& arrival) noexcept {
  writes_.erase(writes_.iterator_to(arrival));
  switch (arrival.kind) {
    case Arrival::Kind::completion:
      events_.on_entry(arrival);
      break;
    case Arrival::Kind::barrier:
      events_.on_barrier(arrival);
      break;
    default:
      if (arrival.length > 0 && !nic_.network().is_ghost(arrival.at, arrival.length)) {
        if (arrival.bytes.empty()) {
          std::memset(arrival.at, 0, arrival.length);
        } else {
          std::memcpy(arrival.at, arrival.bytes.data(), arrival.length);
        }
        nic_.fold_data(arrival.at, arrival.length);
        nic_.note_write(arrival, queue_);
      }
  }
  give_back(arrival);
}

void ArrivalQueue::give_back(Arrival& arrival) noexcept {
  nic_.give_back(arrival);
  changed_ = true;
}

void ArrivalQueue::hurry() noexcept {
  if (held_ == 0) {
    return;
  }
  for (List* list : {&arrived_, &writes_}) {
    for (Arrival& arrival : *list) {
      if (arrival.is_held) {
        arrival.is_held = false;
        nic_.hasten(arrival, queue_);
      }
    }
  }
  held_ = 0;
}

// Looks at what waits until nothing more can go on; tells that memory has changed.
void ArrivalQueue::reconsider() noexcept {
  if (is_looking_) {
    return;
  }
  is_looking_ = true;
  while (std::exchange(changed_, false)) {
    if (waiting_ > 0) {
      wake(writes_);
      wake(arrived_);
    }
    events_.on_progress();
  }
  is_looking_ = false;
}

void ArrivalQueue::wake(List& list) noexcept {
  for (auto at = list.begin(); at != list.end();) {
    Arrival& arrival = *at++;
    if (arrival.waits && may_go_on(arrival)) {
      consider(arrival);
      changed_ = true;
    }
  }
}

void ArrivalQueue::drain() noexcept {
  is_draining_ = true;
  for (List* list : {&arrived_, &writes_}) {
    for (Arrival& arrival : *list) {
      nic_.withdraw(arrival);
      arrival.waits = false;
      arrival.is_held = false;
    }
  }
  waiting_ = 0;
  held_ = 0;
  while (!writes_.empty()) {
    commit(writes_.front());
  }
  while (!arrived_.empty()) {
    Arrival& first = arrived_.front();
    if (first.kind == Arrival::Kind::atomic && !first.has_unit) {
      nic_.finish_unit();
    }
    act(first);
    while (!writes_.empty()) {
      commit(writes_.front());
    }
  }
  is_draining_ = false;
  reconsider();
}

void ArrivalQueue::clear() noexcept {
  for (List* list : {&arrived_, &writes_}) {
    while (!list->empty()) {
      Arrival& arrival = list->front();
      list->pop_front();
      if (arrival.has_unit) {
        arrival.has_unit = false;
        nic_.release_unit();
      }
      nic_.withdraw(arrival);
      nic_.give_back(arrival);
    }
  }
  waiting_ = 0;
  held_ = 0;
}

void ArrivalQueue::finish_unit() noexcept {
  for (Arrival& arrival : arrived_) {
    if (arrival.has_unit) {
      nic_.withdraw(arrival);
      write_word(arrival);
      break;
    }
  }
  reconsider();
}

void ArrivalQueue::unit_is_free() noexcept {
  changed_ = true;
  reconsider();
}

bool ArrivalQueue::touches(const std::byte* at, std::uint64_t length) const noexcept {
  const auto inside = [&](const Arrival& arrival) { return arrival.length > 0 && sim::touches(arrival, at, length); };
  return std::any_of(arrived_.begin(), arrived_.end(), inside) || std::any_of(writes_.begin(), writes_.end(), inside);
}

bool ArrivalQueue::holds_back_put(const std::byte* at, std::uint64_t length) noexcept {
  const Extent extent = profile_.row(SubAction::put_read).writes_under_way;
  const bool holds = std::any_of(writes_.begin(), writes_.end(), [&](const Arrival& write) {
    return write.is_data() && is_held_back(extent, write, at, length);
  });
  if (holds) {
    hurry();
  }
  return holds;
}

}  // namespace ferry::sim
