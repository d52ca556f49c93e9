// Flight: one one-sided operation on its way through the simulated fabric. Piece: one packet of it. Internal.
//
// Every effect is a scheduled step. A read's piece: request to the owner, bytes sampled there; bytes placed locally. A
// write's: bytes sampled locally; placed at the owner. Then the outcome travels back. Pieces have no order among each
// other nor against other operations, except the members of a Sequence, which take effect at the owner one after
// another. Each effect at the owner checks the region anew.
// Owner: the fabric, until the last piece is gone; the Operation and its local memory are touched before completion
// only. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <boost/intrusive/list.hpp>

#include <ferry/sim/sim_channel.hpp>
#include <ferry/transport/operation.hpp>

namespace ferry::sim {

class Flight;

struct Piece : Step {
  enum class Stage : std::uint8_t {
    sampling,    // write: local bytes not read yet
    travelling,  // write: on the way to the owner
    requesting,  // read: on the way to the owner
    returning,   // read: on the way back
  };

  Piece() noexcept;

  Flight* flight = nullptr;
  Stage stage{};
  bool held = false;                // stays in the fabric until a flush or for FabricOptions::hold
  bool parked = false;              // at the owner, behind an earlier member of its sequence
  std::uint64_t remote_offset = 0;  // from the start of the region
  std::byte* local = nullptr;
  std::uint64_t length = 0;
  wire::Bytes bytes;
};

class Flight {
 public:
  Flight(SimFabric& fabric, SimConnection& connection, std::shared_ptr<SimChannel> channel, Operation& operation,
         std::uint64_t number);
  ~Flight();
  Flight(const Flight&) = delete;
  Flight& operator=(const Flight&) = delete;

  std::uint64_t number() const noexcept { return number_; }  // in the order of starting, in the whole world
  OperationKind kind() const noexcept { return kind_; }
  SequenceTag sequence() const noexcept { return sequence_; }
  bool is_transmitted_write() const noexcept { return transmitted_; }
  bool is_waiting_flush() const noexcept { return kind_ == OperationKind::flush && !executed_; }
  Operation* operation() const noexcept { return operation_; }  // null once complete
  ProcessNumber initiator() const noexcept { return channel_->initiator_process(); }
  std::string describe() const;

  void start();

  // The owner may execute it now: all earlier members of its sequence have been.
  void open_gate();
  // An earlier member failed: it ends not_executed.
  void skip();

  // A step that silences it and then ends it with `why` follows.
  void cancel(const Failure& why);
  // Silences it at once; the operation is left as it is. give_up: and ends its sequence.
  void silence() noexcept;
  void give_up();
  // The channel has ended: the failure its operation gets.
  Failure failure_for(const Failure& why) const;

  // A flush waits: what is held goes on its way.
  void hurry();
  // A flush: everything before it is visible; ends with `late`, what went wrong with that, if anything.
  void flushed(const Failure& late);

  // The initiator was killed: what has left it may still arrive.
  void orphan();

  boost::intrusive::list_member_hook<> fabric_hook;
  boost::intrusive::list_member_hook<> connection_hook;

 private:
  friend struct Piece;
  struct Own : Step {
    Own(Function function, Flight* owner) noexcept : Step(function), flight(owner) {}
    Flight* flight;
  };

  static void piece_step(Step& step) noexcept;
  static void owner_step(Step& step) noexcept;
  static void outcome_step(Step& step) noexcept;
  static void silence_step(Step& step) noexcept;

  bool moves_bytes() const noexcept { return kind_ == OperationKind::read || kind_ == OperationKind::write; }
  bool all_issued() const noexcept { return next_chunk_ == chunks_.size() || bool(failure_); }
  void issue();
  std::uint64_t next_length(std::uint64_t remaining);
  void schedule(Piece& piece, StepKind step, ProcessNumber where, Duration delay);

  void sample_local(Piece& piece);
  void place_at_owner(Piece& piece);
  Failure write_to_owner(const Piece& piece);
  Failure read_from_owner(Piece& piece);
  void sample_at_owner(Piece& piece);
  void place_local(Piece& piece);
  bool reached_owner(Piece& piece);
  void finish(Piece& piece);
  void remove(Piece& piece) noexcept;
  void lose() noexcept;
  void execute_at_owner();
  void advance();
  void leave_sequence_line(bool failed);
  void schedule_outcome(Duration delay);
  void end_with(Failure failure);

  SimFabric& fabric_;
  SimConnection* connection_;  // null: orphaned
  const std::shared_ptr<SimChannel> channel_;
  Operation* operation_;
  const std::uint64_t number_;

  // The request, as far as it is needed once the operation is complete.
  const OperationKind kind_;
  const bool transmitted_;
  const SequenceTag sequence_;
  const RemoteRegion region_;
  const std::uint64_t offset_;  // atomics: of the word, in the referenced range
  const std::uint64_t tag_;
  const std::uint64_t operand_;
  const std::uint64_t expected_;
  std::span<const Chunk> chunks_;  // the caller's, until completion

  std::size_t next_chunk_ = 0;     // to be issued
  std::uint64_t next_offset_ = 0;  // in that chunk
  std::vector<Piece*> pieces_;     // issued and not finished
  std::size_t unsampled_ = 0;      // of them: source bytes not read yet

  bool gate_open_ = true;      // no earlier member of its sequence is still to be executed
  bool atomic_waits_ = false;  // an atomic has reached the owner and waits for the gate
  bool in_sequence_line_ = false;
  bool notify_pending_ = false;
  bool hurried_ = false;
  bool sent_ = false;      // something has left for the owner that may change its memory
  bool touched_ = false;   // something did
  bool executed_ = false;  // nothing will happen at the owner any more
  bool lost_ = false;      // a packet met a dead owner; the channel's end will end it
  Failure failure_{};
  Failure cancelled_{};
  std::uint64_t result_ = 0;

  Own owner_step_;
  Own outcome_step_;
  Own silence_step_;
};

}  // namespace ferry::sim
