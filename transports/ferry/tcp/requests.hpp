// Requests: the one-sided operations of one TcpConnection: what waits, what was posted, what was answered, over the
// life of several channels.
//
// Guarded by the connection's lock, which is held for every call. Calls nothing back: what has ended waits in a list,
// from which the connection completes it without the lock. Until it has ended, an operation and its chunk list are
// there; local memory is touched only while it is neither cancelled nor ended.
#pragma once

#include <cstdint>
#include <vector>

#include <ferry/tcp/buffers.hpp>
#include <ferry/tcp/channel.hpp>
#include <ferry/tcp/pending.hpp>
#include <ferry/tcp/sequence_gate.hpp>

namespace ferry::tcp {

class Requests {
 public:
  explicit Requests(Stats& stats) noexcept : stats_(stats) {}

  // Takes the operation in; null: it has ended at once, and its failure is set.
  Pending* start(Operation& operation);

  // The operation's record; null if it is not here. Only while its connection is this one.
  Pending* find(const Operation& operation) noexcept;

  // Posts what waits, as far as it fits.
  void fill(SendBuffer& out) noexcept;

  // Takes bytes of an answer, header first; see ChannelEnd::take. Not for messages, heartbeats and farewells.
  bool is_inside_answer() const noexcept { return reading_ != nullptr; }
  Taken take_data(wire::ByteView bytes, std::size_t& count);
  Result<void> on_answer(const wire::FrameHeader& header, wire::ByteView payload);

  // Ends it with `why`, or asks the owner whether it was executed; false: it has ended already. Its local memory is
  // quiet at once.
  bool cancel(Pending& pending, const Failure& why, TimePoint silent_by);
  // When the first cancelled one must be silent; kNever if none is.
  TimePoint first_silent_by() const noexcept;

  // The next one that has ended, no longer listed; null if there is none. release() it afterwards.
  Pending* take_done() noexcept;
  // Takes one that has ended, and is listed, off the list.
  void withdraw(Pending& pending) noexcept;
  bool has_done() const noexcept { return !done_.empty(); }
  void release(Pending& pending) noexcept { pool_.release(pending); }
  Pending* find(std::uint64_t id) noexcept { return pool_.find(id); }

  // The channel has ended after `sent` bytes had been given to the socket: gives back what may be started again, ends
  // what may have been executed, keeps atomics.
  void on_channel_lost(const Failure& why, std::uint64_t sent, std::vector<Operation*>& again);
  // There is a channel: atomics that were kept go first. Owner's session: a change means that it has forgotten them.
  void on_channel_open(std::uint64_t session);
  bool has_kept() const noexcept { return kept_ > 0; }
  // No channel will come: ends what was kept.
  void end_kept(const Failure& why);
  void end_all(const Failure& why);

  std::uint64_t acknowledged() const noexcept { return acknowledged_; }

 private:
  // requests_post.cpp
  static bool is_bulk(const Operation& operation) noexcept;
  static bool is_unanswered(const Operation& operation) noexcept;
  void enqueue(Pending& pending, Pending::Place place) noexcept;
  void leave_gate(Pending& pending) noexcept;
  void reopen_gates() noexcept;
  void post_notices(SendBuffer& out) noexcept;
  bool post_waiting(SendBuffer& out) noexcept;
  bool post_bulk(SendBuffer& out) noexcept;
  bool post(Pending& pending, SendBuffer& out) noexcept;
  bool post_access(Pending& pending, SendBuffer& out) noexcept;
  bool post_atomic(Pending& pending, SendBuffer& out) noexcept;
  bool post_flush(Pending& pending, SendBuffer& out) noexcept;
  void fully_posted(Pending& pending) noexcept;

  // requests_answer.cpp
  Result<void> begin_data(Pending& pending, const wire::FrameHeader& header);
  void end_piece(Pending& pending, const Piece& piece) noexcept;
  void answered(Pending& pending, const Failure& failure);

  // requests_end.cpp
  void unlist(Pending& pending) noexcept;
  void end(Pending& pending, const Failure& failure);
  void end_rest_of_sequence(std::uint64_t id);
  void lose(Pending& pending, const Failure& why, std::uint64_t sent, std::vector<Operation*>& again);
  Failure outcome(Pending& pending);
  static Effect effect_so_far(const Pending& pending) noexcept;

  Stats& stats_;
  PendingPool pool_;
  SequenceGate gate_;
  PendingList waiting_;
  PendingList bulk_;
  PendingList gated_;
  PendingList done_;
  std::vector<Pending*> cancelled_;            // asked about, not answered
  std::vector<std::uint64_t> cancel_notices_;  // ids, to be posted
  std::vector<std::uint64_t> forget_notices_;  // sequences, to be posted
  std::uint64_t next_order_ = 1;
  std::size_t kept_ = 0;

  // The bytes of an answer to a read that is arriving.
  Pending* reading_ = nullptr;
  std::size_t reading_left_ = 0;  // on the wire
  Piece reading_piece_{};

  std::size_t window_bytes_ = 0;  // of bulky reads under way
  std::size_t window_requests_ = 0;
  std::uint64_t next_number_ = 1;  // of an atomic
  std::uint64_t acknowledged_ = 0;
  std::uint64_t session_ = 0;      // the owner's, of the last channel
  std::uint64_t transmitted_ = 0;  // requests that need no answer, ever posted
  std::uint64_t confirmed_ = 0;    // of these, covered by a flush
  bool lost_some_ = false;         // the next flush has to say so
};

}  // namespace ferry::tcp
