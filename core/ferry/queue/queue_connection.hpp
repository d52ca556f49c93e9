// QueueConnection: what this process initiates toward one peer over queue pairs, over the life of many channels.
//
// A channel is a control link and, once they are needed, two lanes; it ends with its link. A lane that fails is built
// anew without ending the channel. Owner: the Peer. Any thread; one lock, never held while calling back. How a channel
// is made and ends is in connection_channel.cpp, what the owner says on it in connection_control.cpp; how an operation
// sets out in connection_start.cpp, what is posted in connection_post.cpp, what has happened to it in
// connection_complete.cpp, and when it has ended in connection_end.cpp; what becomes of it when a lane or the channel
// ends is in connection_recovery.cpp, cancelling in connection_cancel.cpp.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <ferry/queue/command.hpp>
#include <ferry/queue/control.hpp>
#include <ferry/queue/control_protocol.hpp>
#include <ferry/queue/inside.hpp>
#include <ferry/queue/lane.hpp>
#include <ferry/queue/sequence_order.hpp>
#include <ferry/transport/connection.hpp>
#include <ferry/transport/node_core.hpp>

namespace ferry {
class Peer;
}

namespace ferry::queue {

class QueueConnection final : public Connection, private ControlEvents, private QueueEvents {
 public:
  // transport: by whose key references reach memory. device: outlives it.
  QueueConnection(NodeCore& node, const Peer& peer, ConnectionEvents& events, Device& device,
                  std::unique_ptr<ControlDialer> dialer, TransportId transport, MessageWay way = {});
  ~QueueConnection() override;

  void open() noexcept override;
  Started start(Operation& operation) noexcept override;
  void cancel(Operation& operation, const Failure& why) noexcept override;
  // Never waits: a lane that may still touch the operation's memory is torn down.
  bool abandon(Operation& operation) noexcept override;
  bool send(wire::Bytes&& message) noexcept override;
  void close(const Failure& why) noexcept override;
  bool pipelines_sequences() const noexcept override;
  TransportId transport() const noexcept override { return transport_; }
  void describe_operations(std::vector<std::string>& phrases) const override;
  std::string describe() const override;

 private:
  // greeting: there is a link, and the owner has not answered on it. ending: one thread takes the channel apart.
  enum class State : unsigned char { closed, dialing, greeting, open, ending };

  struct Alarm : Timer {
    Alarm(QueueConnection& owner, void (QueueConnection::*function)() noexcept) noexcept
        : Timer([](Timer& timer) noexcept {
            auto& alarm = static_cast<Alarm&>(timer);
            (alarm.connection.*alarm.ring)();
          }),
          connection(owner),
          ring(function) {}
    QueueConnection& connection;
    void (QueueConnection::*ring)() noexcept;
    bool armed = false;
  };

  // This thread is inside the connection and may call back; close() waits for those on other threads.
  class Calling {
   public:
    explicit Calling(QueueConnection& connection);
    ~Calling();  // not locked
    Calling(const Calling&) = delete;
    Calling& operator=(const Calling&) = delete;

   private:
    QueueConnection& connection_;
    Inside inside_;
  };

  // A queue pair that is no longer used, to be destroyed without the lock; with what it may still touch.
  struct Retired {
    std::unique_ptr<Staging> staging;
    std::unique_ptr<QueuePair> queue;
  };

  // What could be done with one operation that waits at a lane.
  enum class Posting : unsigned char { all, some, blocked, no_room };

  // ControlEvents, QueueEvents.
  void on_control_open() noexcept override;
  void on_control(wire::Bytes&& message) noexcept override;
  void on_control_closed(const Failure& why, PeerState state) noexcept override;
  void on_completion(QueuePair& queue, const WorkCompletion& completion) noexcept override;
  void on_queue_lost(QueuePair& queue, const Failure& why) noexcept override;

  // connection_channel.cpp, connection_control.cpp
  Result<void> take_control(Control kind, wire::ByteView body);
  void wait_for_link(std::unique_lock<std::mutex>& lock) noexcept;
  Result<void> on_welcome(wire::ByteView body);
  void end_channel(std::unique_lock<std::mutex>& lock, const Failure& why, PeerState state, bool for_good) noexcept;
  void arm(Alarm& alarm, TimePoint due) noexcept;
  void on_handshake_due() noexcept;
  void on_attention() noexcept;
  static void reopened(Operation& trigger) noexcept;

  // connection_start.cpp, connection_post.cpp; locked.
  Failure refusal(const Operation& operation) const;
  void enqueue(Pending& pending);
  void pump();
  void post_atomics();
  void send_atomic(Pending& pending);
  void ask_owner(Pending& pending);
  void open_lane(Lane& lane);
  Failure make_next_life(Lane& lane);
  void take_next_life(Lane& lane) noexcept;
  bool owner_answers_marks() const noexcept;
  void post_lane(Lane& lane, bool is_held);
  bool post_turn(Lane& lane);
  Posting post_some(Lane& lane, Pending& pending);
  Posting post_one(Lane& lane, Pending& pending);
  bool may_post(const Pending& pending, SequenceOrder::Kind kind) const noexcept;
  void note_posted(Lane& lane, Pending& pending, SequenceOrder::Kind kind, WorkRequest& work, PostedRequest& request);
  Posting post_range(Lane& lane, Pending& pending);
  Posting post_nic_atomic(Lane& lane, Pending& pending);
  Posting post_command(Lane& lane, Pending& pending);
  Command command_of(const Pending& pending) const;
  AtomicRequest atomic_of(const Pending& pending) const;
  bool post_mark(Lane& lane);
  Result<std::uint32_t> local_key(Pending& pending, std::size_t chunk);
  void stop_posting(Lane& lane, Pending& pending, const Failure& why);

  // connection_complete.cpp, connection_end.cpp; locked.
  Lane* find_lane(const QueuePair& queue) noexcept;
  Lane* find_lane(std::uint32_t id) noexcept;
  void request_done(Lane& lane, std::uint64_t number, PostedRequest& request);
  void request_refused(Lane& lane, std::uint64_t number, PostedRequest& request);
  Result<void> on_lane_ready(const LaneReady& ready);
  Result<void> on_marked(const Marked& marked);
  Result<void> on_executed(const Executed& executed);
  void on_checked(const Verdict& checked);
  void advance(Lane& lane);
  void advance_flushes();
  bool has_reached(Pending& flush);
  void evaluate(Pending& pending);
  bool is_visible(const Pending& pending) const noexcept;
  void end(Pending& pending, const Failure& failure);
  void unlist(Pending& pending) noexcept;
  void fail_sequence(std::uint64_t id);
  void settle() noexcept;  // not locked

  // connection_recovery.cpp; locked.
  void break_lane(Lane& lane, const LaneFailure& failure);
  void ask_about(Lane& lane);
  void lane_failed_to_open(Lane& lane, const Failure& why);
  Retired retire(Lane& lane) noexcept;
  void take_evidence(Lane& lane, const Discarded& discarded);
  void note_lost();
  void resolve(Lane& lane);
  bool may_be_in_part(const Lane& lane, std::uint64_t number, const PostedRequest& request,
                      const Pending& pending) const noexcept;
  void attribute(Lane& lane);
  bool is_unaccounted(const Lane& lane, std::uint64_t number, const PostedRequest& request) const noexcept;
  void resolve_request(Lane& lane, std::uint64_t number, const PostedRequest& request);
  bool resolve_pending(Lane& lane, Pending& pending);
  Failure refused(const Pending& pending) const;
  static Failure lost_transmitted();
  void lose_all(const Failure& why, std::vector<Operation*>& again);
  void lose(Pending& pending, const Failure& why, std::vector<Operation*>& again);
  void end_all(const Failure& why);
  void end_kept(const Failure& why);

  // connection_cancel.cpp
  void on_grace_over() noexcept;
  bool withdraw(Pending& pending, const Failure& why);                                     // locked
  void silence(std::unique_lock<std::mutex>& lock, std::uint64_t id, const Failure& why);  // locked

  NodeCore& node_;
  const Peer& peer_;
  ConnectionEvents& events_;
  Device& device_;
  const std::unique_ptr<ControlDialer> dialer_;
  const TransportId transport_;
  const std::string who_;  // the peer, for texts

  mutable std::mutex mutex_;
  std::condition_variable changed_;  // callers_ or state_
  int callers_ = 0;
  State state_ = State::closed;
  std::uint64_t channel_ = 0;  // number of the latest one
  std::unique_ptr<ControlLink> link_;
  bool has_link_ = false;                                // dial() has returned
  std::string peer_name_;                                // as it said, not yet told to the Peer
  std::vector<std::unique_ptr<ControlLink>> old_links_;  // closed, perhaps from inside a call of theirs
  OrderClass order_ = OrderClass::unordered;             // of this channel: the weaker of both devices'
  bool has_flush_ = false;                               // both devices have
  std::uint64_t session_ = 0;                            // the owner's, of the latest channel
  bool is_closed_for_good_ = false;

  PendingPool pool_;
  std::array<Lane, kLanes> lanes_;
  std::uint32_t next_lane_ = 1;  // its id
  std::size_t broken_ = 0;       // lanes
  std::size_t orphans_ = 0;
  SequenceOrder sequences_;
  PendingList atomics_;  // wait to be sent to the owner's CPU
  PendingList flushes_;
  PendingList done_;
  std::vector<std::uint64_t> cancelled_;  // ids, in the order of silent_by
  std::uint64_t next_order_ = 1;
  std::uint64_t next_number_ = 1;       // of an atomic
  std::vector<std::uint64_t> numbers_;  // of atomics sent and not answered, ascending
  std::size_t kept_ = 0;
  bool lost_some_ = false;             // transmitted writes were lost; the next flush has to say so
  std::vector<WorkRequest> batch_;     // about to be posted
  std::vector<Pending*> turn_;         // of post_turn()
  std::vector<std::uint64_t> behind_;  // same: sequences of which an earlier member still waits

  // Atomics that wait for a channel need one: this operation, given to the Peer to start again, makes it open one.
  Operation reopen_{};
  bool reopen_is_out_ = false;

  Alarm handshake_;
  Alarm grace_;
  Alarm attention_;  // something has ended while nobody could be told
};

}  // namespace ferry::queue
