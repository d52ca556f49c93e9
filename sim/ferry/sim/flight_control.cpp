// How a Flight begins and ends; what moves its bytes is in flight_datapath.cpp.
#include <utility>

#include <fmt/format.h>

#include <ferry/sim/flight.hpp>
#include <ferry/sim/sim_connection.hpp>
#include <ferry/sim/sim_fabric.hpp>
#include <ferry/transport/peer.hpp>

namespace ferry::sim {

Flight::Flight(SimFabric& fabric, SimConnection& connection, std::shared_ptr<SimChannel> channel, Operation& operation,
               std::uint64_t number)
    : fabric_(fabric),
      connection_(&connection),
      channel_(std::move(channel)),
      operation_(&operation),
      number_(number),
      kind_(operation.kind),
      transmitted_(operation.kind == OperationKind::write && operation.completion == Completion::transmitted),
      sequence_(operation.sequence),
      region_(operation.region),
      offset_(operation.single.remote_offset),
      tag_(operation.tag),
      operand_(operation.operand),
      expected_(operation.expected),
      chunks_(operation.chunks()),
      next_chunk_(moves_bytes() ? 0 : chunks_.size()),
      notify_pending_(operation.notify),
      owner_step_(&Flight::owner_step, this),
      outcome_step_(&Flight::outcome_step, this),
      silence_step_(&Flight::silence_step, this) {}

Flight::~Flight() {
  silence();
}

std::string Flight::describe() const {
  return fmt::format("{} of {} bytes{}, {} packets under way{}{}", to_string(kind_), moves_bytes() ? region_.length : 0,
                     connection_ == nullptr ? "" : " at " + connection_->peer().describe(), pieces_.size(),
                     gate_open_ ? "" : ", behind an earlier member of its sequence",
                     lost_ ? ", the owner is dead" : "");
}

void Flight::start() {
  fabric_.scheduler().fold(number_ << 8 | static_cast<std::uint64_t>(kind_));
  if (sequence_.id != 0) {
    in_sequence_line_ = true;
    switch (connection_->sequences().enter(*this)) {
      case SequenceOrder::Entry::runs:
        break;
      case SequenceOrder::Entry::waits:
        gate_open_ = false;
        break;
      case SequenceOrder::Entry::skipped:
        skip();
        return;
    }
  }
  switch (kind_) {
    case OperationKind::read:
    case OperationKind::write:
      issue();
      advance();  // nothing to move: an empty list
      return;
    case OperationKind::fetch_add:
    case OperationKind::compare_swap:
    case OperationKind::swap:
      sent_ = true;
      fabric_.scheduler().schedule(owner_step_, StepKind::execute, channel_->owner_process(), number_,
                                   fabric_.delay(sizeof(std::uint64_t), channel_->number()));
      return;
    case OperationKind::flush:
      return;  // the connection sees to it
  }
}

void Flight::open_gate() {
  gate_open_ = true;
  Scheduler& scheduler = fabric_.scheduler();
  for (Piece* piece : pieces_) {
    if (std::exchange(piece->parked, false)) {
      schedule(*piece, piece->stage == Piece::Stage::travelling ? StepKind::place : StepKind::sample,
               channel_->owner_process(), Duration::zero());
    }
  }
  if (std::exchange(atomic_waits_, false)) {
    scheduler.schedule(owner_step_, StepKind::execute, channel_->owner_process(), number_, Duration::zero());
  }
}

void Flight::skip() {
  silence();
  in_sequence_line_ = false;
  executed_ = true;
  failure_ = Failure(errc::not_executed, "an earlier member of the sequence failed");
  if (operation_ != nullptr) {
    schedule_outcome(fabric_.delay(0, channel_->number()));
  } else {
    connection_->landed(*this, failure_);
    fabric_.dispose(*this);
  }
}

void Flight::cancel(const Failure& why) {
  if (!cancelled_) {
    cancelled_ = why;
    fabric_.scheduler().schedule(silence_step_, StepKind::silence, channel_->initiator_process(), number_,
                                 fabric_.delay(0, channel_->number()));
  }
}

void Flight::silence_step(Step& step) noexcept {
  Flight& self = *static_cast<Own&>(step).flight;
  const bool may_have_changed = self.kind_ != OperationKind::read && self.touched_;
  self.give_up();
  self.end_with(self.cancelled_.with_effect(may_have_changed ? Effect::unknown : Effect::none));
}

void Flight::silence() noexcept {
  while (!pieces_.empty()) {
    remove(*pieces_.back());
  }
  Scheduler& scheduler = fabric_.scheduler();
  scheduler.withdraw(owner_step_);
  scheduler.withdraw(outcome_step_);
  scheduler.withdraw(silence_step_);
  atomic_waits_ = false;
}

void Flight::give_up() {
  silence();
  leave_sequence_line(true);
}

Failure Flight::failure_for(const Failure& why) const {
  return why.with_effect(sent_ ? Effect::unknown : Effect::none);
}

void Flight::hurry() {
  hurried_ = true;
  for (Piece* piece : pieces_) {
    if (std::exchange(piece->held, false)) {
      fabric_.scheduler().withdraw(*piece);
      schedule(*piece, StepKind::place, channel_->owner_process(), fabric_.delay(piece->length, channel_->number()));
    }
  }
}

void Flight::flushed(const Failure& late) {
  executed_ = true;
  failure_ = late;
  schedule_outcome(fabric_.delay(0, channel_->number()) + fabric_.delay(0, channel_->number()));
}

void Flight::orphan() {
  Scheduler& scheduler = fabric_.scheduler();
  connection_ = nullptr;
  operation_ = nullptr;
  chunks_ = {};  // nothing more is issued
  next_chunk_ = 0;
  scheduler.withdraw(outcome_step_);
  scheduler.withdraw(silence_step_);
  const auto pieces = pieces_;
  for (Piece* piece : pieces) {
    if (piece->stage != Piece::Stage::travelling || !gate_open_ ||
        scheduler.choose(ChoiceKind::remains, 2, channel_->number()) == 1) {
      remove(*piece);
      notify_pending_ = false;  // the tag travels behind every byte
    }
  }
  if (owner_step_.is_scheduled() &&
      (!gate_open_ || scheduler.choose(ChoiceKind::remains, 2, channel_->number()) == 1)) {
    scheduler.withdraw(owner_step_);
  }
  if (pieces_.empty() && !owner_step_.is_scheduled()) {
    fabric_.dispose(*this);
  }
}

// What is to come once nothing of it is on the way to the owner or back.
void Flight::advance() {
  if (!pieces_.empty() || !all_issued() || executed_ || lost_) {
    return;
  }
  if (notify_pending_ && !failure_) {
    fabric_.scheduler().schedule(owner_step_, StepKind::execute, channel_->owner_process(), number_, Duration::zero());
    return;
  }
  executed_ = true;
  if (connection_ == nullptr) {
    fabric_.dispose(*this);
    return;
  }
  leave_sequence_line(static_cast<bool>(failure_));
  if (operation_ == nullptr) {
    connection_->landed(*this, failure_ && touched_ ? failure_.with_effect(Effect::unknown) : failure_);
    fabric_.dispose(*this);
  } else if (!outcome_step_.is_scheduled()) {
    schedule_outcome(kind_ == OperationKind::read && !failure_ ? Duration::zero()
                                                               : fabric_.delay(0, channel_->number()));
  }
}

// Nothing of it will happen at the owner any more: the next member's turn.
void Flight::leave_sequence_line(bool failed) {
  if (std::exchange(in_sequence_line_, false)) {
    connection_->sequences().executed(*this, failed);
  }
}

void Flight::schedule_outcome(Duration delay) {
  fabric_.scheduler().schedule(outcome_step_, StepKind::complete, channel_->initiator_process(), number_, delay);
}

void Flight::outcome_step(Step& step) noexcept {
  Flight& self = *static_cast<Own&>(step).flight;
  if (self.transmitted_ && !self.executed_) {
    self.fabric_.scheduler().withdraw(self.silence_step_);
    self.connection_->complete_early(self, std::exchange(self.operation_, nullptr));
    return;
  }
  Failure failure = self.failure_;
  if (failure && self.kind_ != OperationKind::read) {
    failure = failure.with_effect(self.touched_ ? Effect::unknown : failure.effect());
  }
  self.operation_->result = self.result_;
  self.end_with(std::move(failure));
}

void Flight::end_with(Failure failure) {
  Operation& operation = *std::exchange(operation_, nullptr);
  SimConnection& connection = *connection_;
  connection.forget(*this, operation);
  fabric_.dispose(*this);
  if (failure) {
    operation.complete(std::move(failure));
  } else {
    operation.complete();
  }
}

}  // namespace ferry::sim
