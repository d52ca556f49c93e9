// How a Flight's bytes move.
#include <algorithm>
#include <cstring>
#include <utility>

#include <ferry/memory/execute.hpp>
#include <ferry/sim/flight.hpp>
#include <ferry/sim/sim_connection.hpp>
#include <ferry/sim/sim_fabric.hpp>
#include <ferry/sim/sim_transport.hpp>
#include <ferry/transport/node_core.hpp>

namespace ferry::sim {

Piece::Piece() noexcept : Step(&Flight::piece_step) {}

// Puts packets under way, as many as the window allows.
void Flight::issue() {
  Scheduler& scheduler = fabric_.scheduler();
  while (!all_issued() && pieces_.size() < fabric_.options().window_pieces) {
    const Chunk& chunk = chunks_[next_chunk_];
    Piece& piece = fabric_.take_piece();
    piece.flight = this;
    piece.held = false;
    piece.parked = false;
    piece.length = next_length(chunk.length - next_offset_);
    piece.local = chunk.local + next_offset_;
    piece.remote_offset = region_.offset + chunk.remote_offset + next_offset_;
    next_offset_ += piece.length;
    if (next_offset_ == chunk.length) {
      ++next_chunk_;
      next_offset_ = 0;
    }
    pieces_.push_back(&piece);
    ++unsampled_;
    if (kind_ == OperationKind::write) {
      piece.stage = Piece::Stage::sampling;
      schedule(piece, StepKind::sample, channel_->initiator_process(), Duration::zero());
    } else {
      piece.stage = Piece::Stage::requesting;
      schedule(piece, StepKind::sample, channel_->owner_process(), fabric_.delay(0, channel_->number()));
    }
    scheduler.fold(piece.remote_offset);
    scheduler.fold(piece.length);
  }
}

// How long the next piece is: a packet at most, and half of the time torn somewhere at a granule.
std::uint64_t Flight::next_length(std::uint64_t remaining) {
  const FabricOptions& options = fabric_.options();
  const std::uint64_t whole = std::min<std::uint64_t>(remaining, options.piece_bytes);
  if (whole <= options.granule) {
    return whole;
  }
  const std::uint64_t places = (whole - 1) / options.granule;
  const std::uint64_t chosen = fabric_.scheduler().choose(ChoiceKind::cut, places * 2, channel_->number());
  return chosen < places ? whole : (chosen - places + 1) * options.granule;
}

void Flight::schedule(Piece& piece, StepKind step, ProcessNumber where, Duration delay) {
  fabric_.scheduler().schedule(piece, step, where, number_, delay);
}

void Flight::piece_step(Step& step) noexcept {
  Piece& piece = static_cast<Piece&>(step);
  Flight& self = *piece.flight;
  switch (piece.stage) {
    case Piece::Stage::sampling:
      return self.sample_local(piece);
    case Piece::Stage::travelling:
      return self.place_at_owner(piece);
    case Piece::Stage::requesting:
      return self.sample_at_owner(piece);
    case Piece::Stage::returning:
      return self.place_local(piece);
  }
}

void Flight::sample_local(Piece& piece) {
  piece.bytes.clear();
  wire::extend(piece.bytes, piece.length);
  if (piece.length > 0) {
    std::memcpy(piece.bytes.data(), piece.local, piece.length);
  }
  piece.stage = Piece::Stage::travelling;
  sent_ = true;
  --unsampled_;
  Duration delay = fabric_.delay(piece.length, channel_->number());
  if (transmitted_ && !hurried_ && fabric_.scheduler().choose(ChoiceKind::hold, 4, channel_->number()) == 3) {
    piece.held = true;
    delay += fabric_.options().hold;
  }
  schedule(piece, StepKind::place, channel_->owner_process(), delay);
  if (transmitted_ && all_issued() && unsampled_ == 0 && operation_ != nullptr && !outcome_step_.is_scheduled()) {
    schedule_outcome(fabric_.delay(0, channel_->number()));
  }
}

// False: the piece can do nothing at the owner now, or ever.
bool Flight::reached_owner(Piece& piece) {
  if (channel_->owner() == nullptr) {
    remove(piece);
    lose();
    return false;
  }
  piece.parked = !gate_open_;
  return gate_open_;
}

void Flight::place_at_owner(Piece& piece) {
  piece.held = false;
  if (!reached_owner(piece)) {
    return;
  }
  if (Failure refused = write_to_owner(piece); refused && !failure_) {
    failure_ = std::move(refused);
  }
  finish(piece);
}

Failure Flight::write_to_owner(const Piece& piece) {
  const auto pin = channel_->owner()->access(region_, Access::write, piece.remote_offset, piece.length);
  if (!pin) {
    return pin.error();
  }
  if (piece.length > 0) {
    std::memcpy(pin->address(), piece.bytes.data(), piece.length);
    touched_ = true;
  }
  fabric_.scheduler().fold_data(wire::ByteView(piece.bytes));
  return {};
}

void Flight::sample_at_owner(Piece& piece) {
  if (!reached_owner(piece)) {
    return;
  }
  --unsampled_;
  if (Failure refused = read_from_owner(piece)) {
    if (!failure_) {
      failure_ = std::move(refused);
    }
    finish(piece);
    return;
  }
  piece.stage = Piece::Stage::returning;
  schedule(piece, StepKind::place, channel_->initiator_process(), fabric_.delay(piece.length, channel_->number()));
  if (all_issued() && unsampled_ == 0) {
    leave_sequence_line(static_cast<bool>(failure_));
  }
}

Failure Flight::read_from_owner(Piece& piece) {
  const auto pin = channel_->owner()->access(region_, Access::read, piece.remote_offset, piece.length);
  if (!pin) {
    return pin.error();
  }
  piece.bytes.clear();
  wire::extend(piece.bytes, piece.length);
  if (piece.length > 0) {
    std::memcpy(piece.bytes.data(), pin->address(), piece.length);
  }
  return {};
}

void Flight::place_local(Piece& piece) {
  if (piece.length > 0) {
    std::memcpy(piece.local, piece.bytes.data(), piece.length);
  }
  fabric_.scheduler().fold_data(wire::ByteView(piece.bytes));
  finish(piece);
}

void Flight::finish(Piece& piece) {
  remove(piece);
  if (operation_ != nullptr) {
    operation_->progress.fetch_add(1, std::memory_order_relaxed);
    issue();
  }
  advance();
}

void Flight::remove(Piece& piece) noexcept {
  fabric_.scheduler().withdraw(piece);
  pieces_.erase(std::find(pieces_.begin(), pieces_.end(), &piece));
  fabric_.give_back(piece);
}

// A packet met a dead owner.
void Flight::lose() noexcept {
  lost_ = true;
  if (connection_ == nullptr && pieces_.empty()) {
    fabric_.dispose(*this);
  }
}

void Flight::owner_step(Step& step) noexcept {
  Flight& self = *static_cast<Own&>(step).flight;
  if (self.channel_->owner() == nullptr) {
    self.lose();
    return;
  }
  if (!self.gate_open_) {
    self.atomic_waits_ = true;
    return;
  }
  self.execute_at_owner();
}

// An atomic, or the tag behind a write.
void Flight::execute_at_owner() {
  SimTransport& owner = *channel_->owner();
  const RegionHandle region{region_.slot, region_.generation};
  if (kind_ == OperationKind::write) {
    notify_pending_ = false;
    if (auto told = owner.node().regions().notify(region, tag_); !told) {
      failure_ = told.error();
    }
  } else if (auto key = owner.domain().check(region_); !key) {
    failure_ = key.error();
  } else {
    auto old = atomic_on_region(owner.node().regions(), region, region_.offset + offset_, atomic_kind(kind_), operand_,
                                expected_);
    if (old) {
      touched_ = true;
      result_ = *old;
      fabric_.scheduler().fold_data(std::as_bytes(std::span(&result_, 1)));
    } else {
      failure_ = old.error();
    }
  }
  advance();
}

}  // namespace ferry::sim
