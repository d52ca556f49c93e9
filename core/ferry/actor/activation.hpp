// The jobs of an ActorCell's strand: Activation, an endpoint that awaits; PostJob, what arrives. For the cell's sources
// alone.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <ferry/actor/actor_cell.hpp>
#include <ferry/actor/actor_runtime.hpp>
#include <ferry/transport/node_core.hpp>

namespace ferry {

// One endpoint that suspended, or is about to run its first step.
struct ActorCell::Activation : Job {
  Activation(ActorCell& owner, const EndpointInfo& info, Envelope request)
      : Job(&Activation::end_later), cell(owner), endpoint(info), envelope(std::move(request)) {
    reply = make_reply({0, Effect::none, envelope.header.call});
    Task<void> body = endpoint.start(*cell.actor_, cell.runtime_.node(), envelope.body(), stop.get_token(), reply);
    task.emplace(cell.strand_, std::move(body), &Activation::done, this);
    task->scope().call = cell.runtime_.next_activation();
    if (endpoint.takes_stop) {
      task->scope().stop = stop.get_token();
    }
    if (envelope.header.time_left != 0) {
      const TimePoint now = cell.runtime_.node().executor().now();
      task->scope().deadline = saturating_add(now, Duration(static_cast<std::int64_t>(std::min<std::uint64_t>(
                                                       envelope.header.time_left, Duration::max().count()))));
    }
  }

  // Inside the task's last step: its frame is ended by a job of its own, unless it never suspended.
  static void done(detail::RootTask<void>&, void* user) noexcept {
    auto& self = *static_cast<Activation*>(user);
    self.is_done = true;
    if (!self.in_first_step) {
      self.cell.strand_.post(self);
    }
  }
  static void end_later(Job& job) noexcept {
    auto& self = static_cast<Activation&>(job);
    ActorCell& owner = self.cell;
    owner.finished(self);
    owner.next();
  }

  ActorCell& cell;
  const EndpointInfo& endpoint;
  Envelope envelope;
  StopSource stop;
  wire::Bytes reply;
  bool in_first_step = true;
  bool is_done = false;
  std::optional<detail::RootTask<void>> task;
};

// Brings a message to the strand.
struct ActorCell::Mail : Job {
  Mail() noexcept : Job(&Mail::arrive, &Mail::drop) {}

  static void drop(Job& job) noexcept { delete static_cast<Mail*>(&job); }
  static void arrive(Job& job) noexcept {
    std::unique_ptr<Mail> self(static_cast<Mail*>(&job));
    const std::shared_ptr<ActorCell> cell = std::move(self->cell);
    Envelope envelope = std::move(self->envelope);
    cell->keep_spare(std::move(self));
    cell->receive(std::move(envelope));
  }

  std::shared_ptr<ActorCell> cell;
  Envelope envelope;
};

// Brings a cancelled call, or a stop.
struct ActorCell::Control : Job {
  explicit Control(std::shared_ptr<ActorCell> to) : Job(&Control::arrive, &Control::drop), cell(std::move(to)) {}

  static void drop(Job& job) noexcept { delete static_cast<Control*>(&job); }
  static void arrive(Job& job) noexcept {
    const std::unique_ptr<Control> self(static_cast<Control*>(&job));
    ActorCell& cell = *self->cell;
    if (self->done) {
      cell.do_stop(self->why);
      self->done();
    } else {
      cell.withdraw(self->cancelled.channel.get(), self->cancelled.call);
    }
  }

  std::shared_ptr<ActorCell> cell;
  ReplyTo cancelled;
  Failure why{};
  StopDone done;  // none: a call is cancelled
};

}  // namespace ferry
