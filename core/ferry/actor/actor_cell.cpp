#include <ferry/actor/actor_cell.hpp>

#include <algorithm>

#include <fmt/format.h>

#include <ferry/actor/actor_runtime.hpp>
#include <ferry/base/limits.hpp>
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

// Brings something to the strand.
struct ActorCell::PostJob : Job {
  enum class What : unsigned char { envelope, cancel, stop };
  PostJob(What kind, std::shared_ptr<ActorCell> to)
      : Job(&PostJob::arrive, &PostJob::drop), what(kind), cell(std::move(to)) {}

  static void drop(Job& job) noexcept { delete static_cast<PostJob*>(&job); }

  static void arrive(Job& job) noexcept {
    const std::unique_ptr<PostJob> self(static_cast<PostJob*>(&job));
    ActorCell& cell = *self->cell;
    switch (self->what) {
      case What::envelope:
        cell.receive(std::move(self->envelope));
        break;
      case What::cancel:
        cell.withdraw(self->envelope.from.channel.get(), self->envelope.from.call);
        break;
      case What::stop:
        cell.do_stop(self->why);
        if (self->done != nullptr) {
          self->done(self->user);
        }
        break;
    }
  }

  What what;
  std::shared_ptr<ActorCell> cell;
  Envelope envelope;
  Failure why{};
  StopDone done = nullptr;
  void* user = nullptr;
};

ActorCell::ActorCell(ActorRuntime& runtime, const ActorClass& actor_class, ActorId id, std::string name)
    : runtime_(runtime),
      class_(actor_class),
      context_(runtime.node(), id, std::move(name)),
      strand_(runtime.node().executor(), &runtime.node()) {}

ActorCell::~ActorCell() = default;

Failure ActorCell::construct(std::span<const wire::ByteView> arguments) noexcept {
  try {
    actor_ = class_.construct(context_, arguments);
    return {};
  } catch (...) {
    const Failure cause = failure_of(std::current_exception(), errc::spawn_failed);
    stopped_ = Failure(errc::actor_stopped,
                       fmt::format("the constructor of {} \"{}\" failed: {}", class_.name, name(), cause.detail()));
    return Failure(errc::spawn_failed, stopped_.detail());
  }
}

void ActorCell::post(std::shared_ptr<ActorCell> self, Envelope envelope) {
  auto job = std::make_unique<PostJob>(PostJob::What::envelope, std::move(self));
  job->envelope = std::move(envelope);
  strand_.post(*job.release());
}

void ActorCell::cancel(std::shared_ptr<ActorCell> self, const std::shared_ptr<Inbound>& channel, CallId call) {
  auto job = std::make_unique<PostJob>(PostJob::What::cancel, std::move(self));
  job->envelope.from = {channel, call};
  strand_.post(*job.release());
}

void ActorCell::stop(std::shared_ptr<ActorCell> self, const Failure& why, StopDone done, void* user) {
  auto job = std::make_unique<PostJob>(PostJob::What::stop, std::move(self));
  job->why = why;
  job->done = done;
  job->user = user;
  strand_.post(*job.release());
}

bool ActorCell::is_waited_for_by_current(std::uint16_t endpoint) const noexcept {
  return Strand::current() == &strand_ && exclusive_ != nullptr &&
         TaskScope::current()->call == exclusive_->task->scope().call && endpoint < class_.endpoints.size() &&
         !class_.endpoints[endpoint].is_concurrent;
}

void ActorCell::receive(Envelope envelope) {
  if (stopped_) {
    taken(envelope);
    runtime_.reply_failure(envelope.from, stopped_);
    return;
  }
  const std::size_t index = envelope.header.endpoint;
  if (envelope.header.fingerprint != class_.fingerprint || index >= class_.endpoints.size()) {
    taken(envelope);
    runtime_.reply_failure(
        envelope.from,
        Failure(errc::version_mismatch,
                fmt::format("the caller's {} differs from the one that runs here (endpoints, their order "
                            "or their types); build both from the same declaration",
                            class_.name)));
    return;
  }
  if (exclusive_ != nullptr && !class_.endpoints[index].is_concurrent) {
    waiting_.push_back(std::move(envelope));
    return;
  }
  run(std::move(envelope));
}

void ActorCell::run(Envelope envelope) {
  taken(envelope);
  const EndpointInfo& endpoint = class_.endpoints[envelope.header.endpoint];
  if (endpoint.is_task) {
    begin_task(endpoint, std::move(envelope));
  } else {
    run_now(endpoint, std::move(envelope));
  }
}

// The failure for the exception in flight.
Failure ActorCell::exception_failure(const EndpointInfo& endpoint) const {
  return Failure(errc::endpoint_failed,
                 fmt::format("{}::{} of actor \"{}\" threw {}", class_.name, endpoint.name, name(),
                             describe_exception(std::current_exception(), limits::kExceptionText)))
      .with_effect(Effect::unknown);
}

void ActorCell::run_now(const EndpointInfo& endpoint, Envelope envelope) {
  wire::Bytes reply = make_reply({0, Effect::none, envelope.header.call});
  Failure failure;
  try {
    endpoint.run(*actor_, runtime_.node(), envelope.body(), StopToken(), reply);
  } catch (...) {
    failure = exception_failure(endpoint);
  }
  answer(envelope, endpoint, std::move(reply), failure);
}

void ActorCell::begin_task(const EndpointInfo& endpoint, Envelope envelope) {
  running_.push_back(std::make_unique<Activation>(*this, endpoint, std::move(envelope)));
  Activation& activation = *running_.back();
  if (!endpoint.is_concurrent) {
    exclusive_ = &activation;
  }
  activation.task->run_here();
  activation.in_first_step = false;
  if (activation.is_done) {
    finished(activation);
  }
}

void ActorCell::finished(Activation& activation) noexcept {
  Failure failure;
  try {
    activation.task->take();
  } catch (...) {
    failure = exception_failure(activation.endpoint);
  }
  activation.task.reset();
  answer(activation.envelope, activation.endpoint, std::move(activation.reply), failure);
  if (exclusive_ == &activation) {
    exclusive_ = nullptr;
  }
  running_.remove_if([&activation](const auto& running) { return running.get() == &activation; });
}

// Starts what waits, until an endpoint suspends or nothing is left.
void ActorCell::next() {
  while (exclusive_ == nullptr && !waiting_.empty() && !stopped_) {
    Envelope envelope = std::move(waiting_.front());
    waiting_.pop_front();
    run(std::move(envelope));
  }
}

void ActorCell::answer(const Envelope& envelope, const EndpointInfo& endpoint, wire::Bytes&& reply,
                       const Failure& failure) {
  if (!envelope.from.call) {
    if (failure) {
      runtime_.node().log().write(LogLevel::warning, "a message without a reply failed: " + failure.detail());
    }
    return;
  }
  if (failure) {
    runtime_.reply_failure(envelope.from, failure);
    return;
  }
  const std::size_t limit = runtime_.node().limits().frame_bytes;
  if (reply.size() > limit) {
    runtime_.reply_failure(
        envelope.from,
        Failure(errc::too_large, fmt::format("the reply of {}::{} has {} bytes, a frame at most {} "
                                             "(NodeLimits::frame_bytes); return a reference to registered memory",
                                             class_.name, endpoint.name, reply.size(), limit))
            .with_effect(Effect::unknown));
    return;
  }
  runtime_.reply(envelope.from, std::move(reply));
}

void ActorCell::withdraw(const Inbound* channel, CallId call) {
  const auto is_it = [&](const Envelope& envelope) {
    return envelope.from.channel.get() == channel && envelope.from.call == call;
  };
  const auto queued = std::find_if(waiting_.begin(), waiting_.end(), is_it);
  if (queued != waiting_.end()) {
    taken(*queued);
    waiting_.erase(queued);
    return;
  }
  for (const auto& activation : running_) {
    if (is_it(activation->envelope)) {
      activation->stop.request_stop();
      return;
    }
  }
}

void ActorCell::do_stop(const Failure& why) noexcept {
  if (!stopped_) {
    stopped_ = why;
  }
  for (const auto& activation : running_) {
    if (activation->is_done) {
      strand_.withdraw(*activation);
    }
    activation->task.reset();  // cancels what it waits for, and waits until that is quiet
    runtime_.reply_failure(activation->envelope.from, stopped_.with_effect(Effect::unknown));
  }
  running_.clear();
  exclusive_ = nullptr;
  for (const Envelope& envelope : waiting_) {
    taken(envelope);
    runtime_.reply_failure(envelope.from, stopped_);
  }
  waiting_.clear();
  if (actor_ != nullptr) {
    const NodeCore& node = runtime_.node();
    context_.registrations().revoke_all(saturating_add(node.executor().now(), node.limits().quiet_grace));
    actor_->on_stop();
    actor_.reset();
  }
}

// Tells the sender that the message has left the mailbox: it may send another.
void ActorCell::taken(const Envelope& envelope) {
  const std::size_t bytes = envelope.message.size();
  if (envelope.from.channel == nullptr) {
    runtime_.window_of_self(id()).give_back(1, bytes);
    return;
  }
  auto found = std::find_if(consumed_.begin(), consumed_.end(),
                            [&](const Consumed& known) { return known.channel == envelope.from.channel; });
  if (found == consumed_.end()) {
    consumed_.push_back({envelope.from.channel, 0, 0});
    found = consumed_.end() - 1;
  }
  ++found->messages;
  found->bytes += bytes;
  if (found->messages >= limits::kWindowMessages / 2 || found->bytes >= limits::kWindowBytes / 2) {
    found->channel->send(make_credit({found->messages, id(), found->bytes}));
    consumed_.erase(found);
  }
}

ActorAddress ActorContext::self_address() const {
  return {&node_.peers().find_or_add(node_.self()), id_};
}

namespace detail {

NodeCore& node_of(ActorContext& context) noexcept {
  return context.node();
}

void refuse_arity(std::string_view class_name, std::size_t count) {
  throw Error(
      Failure(errc::invalid_argument,
              fmt::format("no constructor of {} takes {} arguments behind the context (or several do: then name "
                          "one by `using arguments = ferry::arguments<…>`)",
                          class_name, count)));
}

}  // namespace detail

}  // namespace ferry
