// ActorCell: one actor at run time: its strand, its mailbox, what it is executing. Internal to the runtime.
//
// Owner: shared by the ActorRuntime's table and by messages under way; deleted by a job of the executor, never on its
// own strand. Thread: post(), cancel() and stop() from any; everything else on the strand.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <ferry/actor/actor_class.hpp>
#include <ferry/actor/actor_context.hpp>
#include <ferry/actor/message.hpp>
#include <ferry/actor/window.hpp>
#include <ferry/base/root_task.hpp>
#include <ferry/base/strand.hpp>
#include <ferry/transport/inbound.hpp>

namespace ferry {

class ActorRuntime;

// Where an answer goes: a peer's channel, or this process's own call table.
struct ReplyTo {
  std::shared_ptr<Inbound> channel;  // null: this process
  CallId call{};                     // none: nobody waits for an answer
};

// A received request on its way through a mailbox.
struct Envelope {
  RequestHeader header{};
  ReplyTo from;
  wire::Bytes message;

  wire::ByteView body() const noexcept {
    return wire::ByteView(message.data(), message.size()).subspan(RequestHeader::kSize);
  }
};

class ActorCell {
 public:
  ActorCell(ActorRuntime& runtime, const ActorClass& actor_class, ActorId id, std::string name);
  ~ActorCell();
  ActorCell(const ActorCell&) = delete;
  ActorCell& operator=(const ActorCell&) = delete;

  ActorId id() const noexcept { return context_.id(); }
  const std::string& name() const noexcept { return context_.name(); }
  const ActorClass& actor_class() const noexcept { return class_; }
  Strand& strand() noexcept { return strand_; }
  const Actor* actor() const noexcept { return actor_.get(); }  // on the strand; null unless it lives

  // Runs the constructor; on the strand. none: constructed. A failure is told to the one who spawns, and knows what.
  Failure construct(std::span<const wire::ByteView> arguments) noexcept;
  // What callers of one that was not constructed are told.
  Failure never_lived(const Failure& why) const;

  // In place of construct(), before anything runs.
  void adopt(std::unique_ptr<Actor> actor) noexcept { actor_ = std::move(actor); }

  void post(std::shared_ptr<ActorCell> self, Envelope&& envelope);
  void cancel(std::shared_ptr<ActorCell> self, const std::shared_ptr<Inbound>& channel, CallId call);
  // Passes by what waits in the mailbox. `done` runs on the strand when the actor has been destroyed. The first reason
  // counts.
  using StopDone = std::function<void()>;
  void stop(std::shared_ptr<ActorCell> self, const Failure& why, StopDone done);

  // For reports, a phrase each: endpoints that have not ended, and what waits behind them. Only while nothing of the
  // actor runs.
  void describe_waits(std::vector<std::string>& phrases) const;

  // True if the running step belongs to the endpoint that keeps other endpoints of this actor from starting.
  bool is_waited_for_by_current(std::uint16_t endpoint) const noexcept;

 private:
  struct Activation;
  struct Mail;
  struct Control;
  // Runs the next waiting message: each is a step of its own, so that others on the executor, and a stop, get theirs.
  struct NextJob : Job {
    explicit NextJob(ActorCell& owner) noexcept
        : Job([](Job& job) noexcept { static_cast<NextJob&>(job).cell.run_next(); }), cell(owner) {}
    ActorCell& cell;
    bool is_queued = false;
  };

  void keep_spare(std::unique_ptr<Mail> mail) noexcept;
  void receive(Envelope&& envelope);
  void run(Envelope&& envelope);
  void run_now(const EndpointInfo& endpoint, Envelope&& envelope);
  void begin_task(const EndpointInfo& endpoint, Envelope&& envelope);
  void finished(Activation& activation) noexcept;
  void next();
  void run_next();
  void withdraw(const Inbound* channel, CallId call);
  void do_stop(const Failure& why) noexcept;
  void taken(const Envelope& envelope);
  Failure exception_failure(const EndpointInfo& endpoint) const;
  Failure endpoint_failure(const EndpointInfo& endpoint) const;
  void answer(const Envelope& envelope, const EndpointInfo& endpoint, wire::Bytes&& reply, const Failure& failure);
  void refuse(const Envelope& envelope, const Failure& why);
  bool was_cancelled(const Envelope& envelope);
  Failure stop_requested() const;

  // Weak: a channel that has ended must not be kept by those who have taken its messages.
  struct Consumed {
    std::weak_ptr<Inbound> channel;
    std::uint32_t messages = 0;
    std::uint64_t bytes = 0;
  };

  ActorRuntime& runtime_;
  const ActorClass& class_;
  ActorContext context_;
  Strand strand_;
  std::unique_ptr<Actor> actor_;
  std::atomic<Mail*> spare_{nullptr};               // for the next message: one at a time allocates nothing
  std::deque<Envelope> waiting_;                    // behind the exclusive endpoint, oldest first
  std::list<std::unique_ptr<Activation>> running_;  // endpoints that await
  Activation* exclusive_ = nullptr;
  NextJob next_job_{*this};
  Failure stopped_{};                         // why; none while it lives
  std::vector<Consumed> consumed_;            // taken, and not yet credited to the sender
  const std::shared_ptr<Window> own_window_;  // of this process toward it

  // What passes the mailbox by: known before the job that brings it to the strand has run.
  struct Cancelled {
    const Inbound* channel;
    CallId call;
  };
  mutable std::mutex urgent_mutex_;
  std::atomic<bool> is_urgent_{false};  // one of the two is set
  Failure stop_requested_{};
  std::vector<Cancelled> cancelled_;
};

}  // namespace ferry
