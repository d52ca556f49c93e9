// Peer: one other process (or this one) as this node sees it: its contact, the connection that reaches it, and what
// waits for one. PeerTable: all of them.
//
// A Peer chooses the first transport, in the node's order of preference, over which a channel can be made, and keeps to
// it. It lives as long as the node, so that references may point to it. Any thread may call anything.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <boost/intrusive/list.hpp>

#include <ferry/transport/address.hpp>
#include <ferry/transport/connection.hpp>
#include <ferry/transport/operation.hpp>

namespace ferry {

class NodeCore;
class Peer;

// What every use of a default-constructed reference ends with (invalid_argument). what: "reference", "actor reference".
Failure empty_reference(std::string_view what = "reference");

// Counts the channels of a Peer: what is sent or started under one number ends with that channel. Never 0.
using ChannelNumber = std::uint64_t;

// Told about the fate of a peer's messages; implemented by the actor runtime.
class PeerEvents {
 public:
  virtual void on_reply(Peer& peer, wire::Bytes&& message) noexcept = 0;
  // A message provably never left, and never will: the beginning of it, see ConnectionEvents::on_unsent. Before the
  // on_peer_failed of its channel.
  virtual void on_unsent(Peer& peer, wire::ByteView message, const Failure& why) noexcept = 0;
  // A channel of the peer has ended, or none could be made. Messages sent under this channel number or a lower one that
  // have not been answered may not have arrived, and no answer to them will.
  virtual void on_peer_failed(Peer& peer, const Failure& why, PeerState state, ChannelNumber channel) noexcept = 0;

 protected:
  ~PeerEvents() = default;
};

class Peer final : private ConnectionEvents {
 public:
  Peer(NodeCore& node, ProcessId id);
  ~Peer();

  ProcessId id() const noexcept { return id_; }
  NodeCore& node() const noexcept { return node_; }
  bool is_self() const noexcept;

  // Adds addresses that are not known yet.
  void learn(const std::vector<Address>& addresses);
  Contact contact() const;

  // "process 3f2a/9c01d2e4 (worker/2)": for error texts.
  std::string describe() const;
  void set_name(std::string name);

  // Which transport is used and why the others are not; for people.
  std::string explain() const;

  // Starts the operation, now or once a channel is open. Never `not_open`. One that is bound to a channel
  // (SequenceTag::channel) and finds another ends not_executed.
  Started start(Operation& operation) noexcept {
    Connection* connection = ready_.load(std::memory_order_acquire);
    if (connection != nullptr && operation.sequence.channel == 0) [[likely]] {
      const Started started = connection->start(operation);
      if (started != Started::not_open) [[likely]] {
        return started;
      }
    }
    return start_slow(operation);
  }
  // See Connection::try_transfer.
  bool try_transfer(OperationKind kind, const RemoteRegion& region, std::byte* local) noexcept {
    Connection* connection = ready_.load(std::memory_order_acquire);
    return connection != nullptr && connection->try_transfer(kind, region, local);
  }
  bool try_atomic(const OperationRequest& request, std::uint64_t& old) noexcept {
    Connection* connection = ready_.load(std::memory_order_acquire);
    return connection != nullptr && connection->try_atomic(request, old);
  }
  void cancel(Operation& operation, const Failure& why) noexcept;
  bool abandon(Operation& operation) noexcept;  // see Connection::abandon

  // Queues a message. The peer's fate, and nothing was queued, if it has one already; a later failure to deliver is
  // told to PeerEvents, perhaps before this returns. sent_under: gets the channel's number before that can happen.
  Failure send(wire::Bytes&& message, std::atomic<ChannelNumber>* sent_under = nullptr) noexcept;

  // Takes back a message that still waits for a channel: the latest for which is_it(message, number) holds. False:
  // there is none.
  bool take_back(bool (*is_it)(wire::ByteView message, std::uint64_t number), std::uint64_t number) noexcept;

  // Adds a phrase for each operation that waits here or is under way: "write_from of 256 bytes at process …".
  void describe_operations(std::vector<std::string>& phrases) const;

  bool pipelines_sequences() const noexcept;
  ChannelNumber channel() const noexcept { return channel_.load(std::memory_order_acquire); }

  // "shm": what carries operations and messages now; "none" while there is no channel.
  std::string_view transport_name() const noexcept;

  // The failure that every use of the peer now ends with; none while it may be alive.
  Failure fate() const;
  // Declares this life of the process ended (its parent saw it die, and knows how): what a channel had to say about it
  // counts no more. The first time counts.
  void declare_gone(const Failure& why) noexcept;

  void close(const Failure& why) noexcept;

 private:
  // open: a channel exists, or has just broken and its on_closed is on the way.
  enum class State : unsigned char { idle, opening, open, gone };
  struct Candidate {
    TransportId transport;
    std::unique_ptr<Connection> connection;  // null: no way there
    std::string why_not;
    errc code = errc::peer_unreachable;  // of the latest failure to open it
  };
  using Queue = boost::intrusive::list<
      Operation, boost::intrusive::member_hook<Operation, boost::intrusive::list_member_hook<>, &Operation::hook>>;

  void on_open(Connection& connection) noexcept override;
  void on_closed(Connection& connection, const Failure& why, PeerState state) noexcept override;
  void redrive(Operation& operation, const Failure& why) noexcept override;
  void on_unsent(Connection& connection, wire::ByteView message, const Failure& why) noexcept override;
  void on_message(Connection& connection, wire::Bytes&& message) noexcept override;

  Started start_slow(Operation& operation) noexcept;
  std::vector<Candidate> make_candidates();
  void open_candidate(std::unique_lock<std::mutex> lock) noexcept;
  void call_open(Connection& connection) noexcept;
  void hand_over(Connection& connection) noexcept;
  void fail_waiting(std::unique_lock<std::mutex> lock, const Failure& why, PeerState state) noexcept;
  // The present channel's number ends, and with it the messages under it; those that still wait here never left.
  struct EndedChannel {
    ChannelNumber number;
    std::deque<wire::Bytes> unsent;
  };
  EndedChannel end_channel() noexcept;                                                 // locked
  void tell(const EndedChannel& ended, const Failure& why, PeerState state) noexcept;  // not locked
  void end(const Failure& why, bool is_known) noexcept;
  Failure unreachable() const;
  static Failure channel_of_sequence_ended(const Failure& why);

  NodeCore& node_;
  const ProcessId id_;
  std::atomic<Connection*> ready_{nullptr};
  std::atomic<ChannelNumber> channel_{1};  // the present one's, or the next one's; changed under the lock

  // Held around Connection::open(), which may call back: so that none is opened after it was closed for good.
  std::recursive_mutex opening_;

  mutable std::mutex mutex_;  // never held while calling a Connection, but for send and start, which call nothing back
  State state_ = State::idle;
  std::string name_;
  std::vector<Address> addresses_;
  std::vector<Candidate> candidates_;  // made at the first opening, in order of preference
  std::size_t candidate_ = 0;          // being tried, or in use
  bool was_open_ = false;
  Failure last_end_{};  // of an open channel that broke, or that could not be made
  Failure fate_{};
  bool fate_is_guessed_ = false;      // a channel told it, which cannot know how the process ended
  Queue operations_;                  // wait for a channel
  std::deque<wire::Bytes> messages_;  // same
};

class PeerTable {
 public:
  explicit PeerTable(NodeCore& node) noexcept : node_(node) {}
  ~PeerTable();

  // The peer for an id; made at first sight. Never fails; never null.
  Peer& find_or_add(ProcessId id);
  Peer& find_or_add(const Contact& contact);
  Peer* find(ProcessId id) const noexcept;

  // See Peer::describe_operations: of all, by process.
  std::vector<std::string> describe_operations() const;

  void set_events(PeerEvents& events) noexcept { events_ = &events; }
  PeerEvents* events() const noexcept { return events_; }

  // Closes every peer, and those that are added later; blocks until their connections are quiet.
  void shut_down() noexcept;

 private:
  std::vector<Peer*> by_process() const;  // locked

  NodeCore& node_;
  PeerEvents* events_ = nullptr;
  mutable std::mutex mutex_;
  std::unordered_map<ProcessId, std::unique_ptr<Peer>> peers_;
  bool shut_down_ = false;
};

}  // namespace ferry
