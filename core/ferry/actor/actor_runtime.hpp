// ActorRuntime: the actors of one node: their table, the calls that wait for replies, the windows toward other actors,
// and the way of every message between them.
//
// Owner: the node's stack (mesh/node_stack.hpp). Any thread, where not said otherwise.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <ferry/actor/actor_cell.hpp>
#include <ferry/actor/actor_class.hpp>
#include <ferry/actor/call.hpp>
#include <ferry/actor/call_table.hpp>
#include <ferry/actor/window.hpp>
#include <ferry/base/gate.hpp>
#include <ferry/base/one_shot.hpp>
#include <ferry/transport/inbound.hpp>
#include <ferry/transport/peer.hpp>

namespace ferry {

struct ActorSpec {
  std::string class_name;
  std::uint32_t fingerprint = 0;
  std::string name;
  std::vector<std::vector<std::byte>> arguments;  // each encoded alone
};

class ActorRuntime final : private MessageSink, private PeerEvents {
 public:
  // The process's own control actor has this id.
  static constexpr ActorId kNodeActor{1};

  ActorRuntime(NodeCore& node, std::vector<ActorClass> classes);
  ~ActorRuntime();

  NodeCore& node() const noexcept { return node_; }
  CallTable& calls() noexcept { return calls_; }

  // Constructs an actor on a strand of its own. Failures: no_such_actor_class, version_mismatch, name_in_use,
  // spawn_failed with the constructor's exception. In a task of this node.
  Task<ActorId> spawn(ActorSpec spec);
  // Takes the control actor; before anything runs. The class must outlive the runtime.
  void install_node_actor(const ActorClass& node_actor_class, std::unique_ptr<Actor> actor);

  // Ends when the actor has been destroyed; at once if there is none.
  Task<void> stop(ActorId id, Failure why);

  // --- For calls.
  Peer& self_peer() const noexcept { return self_peer_; }
  std::shared_ptr<Window> window(Peer& peer, ActorId actor);
  // The actor has ended: nothing is sent to it any more but by those that hold its window.
  void forget_window(const Peer& peer, ActorId actor) noexcept;
  // Delivers here or hands to the peer. The peer's fate if it is gone.
  Failure send_request(Peer& peer, wire::Bytes&& message, std::atomic<ChannelNumber>& sent_under) noexcept;
  // Tells the owner that nobody waits for the call any more. True: it never left, and never will.
  bool cancel_call(Peer& peer, const CancelHeader& header) noexcept;
  detail::SelfCall self_call(const detail::CallTarget& target) const noexcept;

  // The actor itself, for the simulator, which lets nothing run meanwhile; null unless it lives.
  const Actor* peek(ActorId id) const noexcept;

  // --- For cells.
  void reply(const ReplyTo& to, wire::Bytes&& message) noexcept;
  void reply_failure(const ReplyTo& to, const Failure& failure) noexcept;
  std::uint64_t next_activation() noexcept { return next_activation_.fetch_add(1, std::memory_order_relaxed); }

  // For reports, a phrase each: what calls, mailboxes and endpoints of this node wait for. Only while nothing of it
  // runs.
  std::vector<std::string> describe_waits() const;

  // Ends when every actor but the control actor has been destroyed, the latest first.
  Task<void> stop_all();

  // Stops every actor and waits until all are destroyed. From outside the node's strands.
  void shut_down() noexcept;

 private:
  struct WindowKey {
    const Peer* peer;
    ActorId actor;
    friend bool operator==(const WindowKey&, const WindowKey&) = default;
  };
  struct WindowHash {
    std::size_t operator()(const WindowKey& key) const noexcept {
      return std::hash<const void*>{}(key.peer) ^ (key.actor.value() * 0x9e3779b97f4a7c15ULL);
    }
  };

  void on_request(const std::shared_ptr<Inbound>& from, wire::Bytes&& message) noexcept override;
  void on_inbound_closed(const std::shared_ptr<Inbound>& from, const Failure& why) noexcept override;
  void on_reply(Peer& peer, wire::Bytes&& message) noexcept override;
  void on_unsent(Peer& peer, wire::ByteView message, const Failure& why) noexcept override;
  void on_peer_failed(Peer& peer, const Failure& why, PeerState state, ChannelNumber channel) noexcept override;

  Result<void> deliver(const std::shared_ptr<Inbound>& from, wire::Bytes&& message);
  std::shared_ptr<ActorCell> find(ActorId id) const noexcept;
  std::shared_ptr<Window> find_window(const Peer& peer, ActorId actor) const noexcept;
  Failure absent(ActorId id) const;
  Result<std::shared_ptr<ActorCell>> make_cell(ActorSpec spec, const OneShot<Failure>& outcome);
  std::shared_ptr<ActorCell> new_cell(const ActorClass& actor_class, ActorId id, const std::string& name);
  void forget(ActorId id, const Failure& why);
  void malformed(const Inbound* from, const Failure& failure) noexcept;

  struct Construction;

  NodeCore& node_;
  Peer& self_peer_;
  const std::vector<ActorClass> classes_;
  CallTable calls_;
  std::atomic<std::uint64_t> next_activation_{1};

  mutable std::mutex mutex_;
  std::unordered_map<ActorId, std::shared_ptr<ActorCell>> cells_;
  std::unordered_map<std::string, ActorId> names_;
  std::unordered_map<ActorId, Failure> ends_;  // why the latest stopped ones did
  std::vector<ActorId> ends_order_;
  std::uint64_t next_actor_ = kNodeActor.value() + 1;
  bool takes_actors_ = true;  // until shut_down()

  mutable std::mutex windows_mutex_;
  std::unordered_map<WindowKey, std::shared_ptr<Window>, WindowHash> windows_;

  void retire(ActorCell* cell) noexcept;
  bool delete_retired() noexcept;  // false: there were none
  void drop_everything(std::vector<std::shared_ptr<ActorCell>> cells) noexcept;

  // Deletes retired cells from a job of the executor: never on a cell's own strand.
  struct Reaper : Job {
    explicit Reaper(ActorRuntime& owner) noexcept
        : Job([](Job& job) noexcept { static_cast<Reaper&>(job).runtime.delete_retired(); }), runtime(owner) {}
    ActorRuntime& runtime;
  };
  std::mutex retired_mutex_;
  std::vector<ActorCell*> retired_;  // not empty: reaper_ is posted
  Reaper reaper_{*this};
  Gate live_cells_;  // those not deleted yet
  bool shut_down_ = false;
};

}  // namespace ferry
