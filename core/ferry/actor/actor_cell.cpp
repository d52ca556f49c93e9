#include <ferry/actor/actor_cell.hpp>

#include <algorithm>

#include <fmt/format.h>

#include <ferry/actor/activation.hpp>
#include <ferry/actor/actor_runtime.hpp>
#include <ferry/base/buggify.hpp>
#include <ferry/base/limits.hpp>
#include <ferry/transport/node_core.hpp>

namespace ferry {

ActorCell::ActorCell(ActorRuntime& runtime, const ActorClass& actor_class, ActorId id, std::string name)
    : runtime_(runtime),
      class_(actor_class),
      context_(runtime.node(), id, std::move(name)),
      strand_(runtime.node().executor(), &runtime.node()),
      own_window_(runtime.window(runtime.self_peer(), context_.id())) {}

ActorCell::~ActorCell() {
  keep_spare(nullptr);
}

Failure ActorCell::construct(std::span<const wire::ByteView> arguments) noexcept {
  if (const Failure why = stop_requested()) {
    return why;
  }
  try {
    actor_ = class_.construct(context_, arguments);
    return {};
  } catch (const detail::ArgumentsRefused& refused) {
    stopped_ = never_lived(refused.why);
    return refused.why;
  } catch (...) {
    const Failure why(
        errc::spawn_failed,
        fmt::format("its constructor threw {}", describe_exception(std::current_exception(), limits::kExceptionText)));
    stopped_ = never_lived(why);
    return why;
  }
}

Failure ActorCell::never_lived(const Failure& why) const {
  return Failure(errc::actor_stopped,
                 fmt::format("{} \"{}\" was not constructed: {}", class_.name, name(), why.detail()));
}

void ActorCell::post(std::shared_ptr<ActorCell> self, Envelope&& envelope) {
  std::unique_ptr<Mail> mail(spare_.exchange(nullptr, std::memory_order_acquire));
  if (mail == nullptr) {
    mail = std::make_unique<Mail>();
  }
  mail->cell = std::move(self);
  mail->envelope = std::move(envelope);
  strand_.post(*mail.release());
}

void ActorCell::keep_spare(std::unique_ptr<Mail> mail) noexcept {
  mail.reset(spare_.exchange(mail.release(), std::memory_order_acq_rel));
}

bool ActorCell::is_waited_for_by_current(std::uint16_t endpoint) const noexcept {
  return strand_.is_current() && exclusive_ != nullptr && TaskScope::current() != nullptr &&
         TaskScope::current()->call == exclusive_->task->scope().call && endpoint < class_.endpoints.size() &&
         !class_.endpoints[endpoint].is_concurrent;
}

// Answers a message that no endpoint will see.
void ActorCell::refuse(const Envelope& envelope, const Failure& why) {
  taken(envelope);
  runtime_.reply_failure(envelope.from, why);
}

void ActorCell::receive(Envelope&& envelope) {
  if (was_cancelled(envelope)) {
    taken(envelope);
    return;
  }
  if (const Failure why = stopped_ ? stopped_ : stop_requested()) {
    refuse(envelope, why);
    return;
  }
  const std::size_t index = envelope.header.endpoint;
  if (envelope.header.fingerprint != class_.fingerprint) {
    refuse(envelope,
           Failure(errc::version_mismatch,
                   id() == ActorRuntime::kNodeActor
                       ? std::string("the two programs are built with versions of ferry that control processes "
                                     "differently; build both with the same")
                       : fmt::format("the caller's {} differs from the one that runs here (endpoints, their order or "
                                     "their types); build both from the same declaration",
                                     class_.name)));
    return;
  }
  if (index >= class_.endpoints.size()) {
    refuse(envelope, Failure(errc::no_such_endpoint, fmt::format("{} has {} endpoints, and none of number {}",
                                                                 class_.name, class_.endpoints.size(), index)));
    return;
  }
  if ((exclusive_ != nullptr || !waiting_.empty()) && !class_.endpoints[index].is_concurrent) {
    waiting_.push_back(std::move(envelope));
    return;
  }
  run(std::move(envelope));
}

void ActorCell::run(Envelope&& envelope) {
  taken(envelope);
  const EndpointInfo& endpoint = class_.endpoints[envelope.header.endpoint];
  if (id() != ActorRuntime::kNodeActor && Adversity::strikes_now(Adversity::Strike::endpoint_throws)) {
    answer(envelope, endpoint, {},
           Failure(errc::endpoint_failed, fmt::format("{}::{} of actor \"{}\" threw an exception of the simulator",
                                                      class_.name, endpoint.name, name()))
               .with_effect(Effect::unknown));
    return;
  }
  if (endpoint.is_task) {
    begin_task(endpoint, std::move(envelope));
  } else {
    run_now(endpoint, std::move(envelope));
  }
}

// The failure for the exception in flight.
Failure ActorCell::exception_failure(const EndpointInfo& endpoint) const {
  try {
    throw;
  } catch (const detail::ArgumentsRefused& refused) {
    return Failure(errc::malformed, fmt::format("{}::{} of actor \"{}\" was not run: {}", class_.name, endpoint.name,
                                                name(), refused.why.detail()));
  } catch (const Error& error) {
    if (id() == ActorRuntime::kNodeActor) {
      return error.failure();  // ferry's own endpoints: the caller acts on the code
    }
    return endpoint_failure(endpoint);
  } catch (...) {
    return endpoint_failure(endpoint);
  }
}

// For the exception in flight, as a user's endpoint throws it.
Failure ActorCell::endpoint_failure(const EndpointInfo& endpoint) const {
  return Failure(errc::endpoint_failed,
                 fmt::format("{}::{} of actor \"{}\" threw {}", class_.name, endpoint.name, name(),
                             describe_exception(std::current_exception(), limits::kExceptionText)))
      .with_effect(Effect::unknown);
}

void ActorCell::run_now(const EndpointInfo& endpoint, Envelope&& envelope) {
  wire::Bytes reply = make_reply({0, Effect::none, envelope.header.call});
  Failure failure;
  try {
    endpoint.run(*actor_, runtime_.node(), envelope.body(), StopToken(), reply);
  } catch (...) {
    failure = exception_failure(endpoint);
  }
  answer(envelope, endpoint, std::move(reply), failure);
}

void ActorCell::begin_task(const EndpointInfo& endpoint, Envelope&& envelope) {
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

// Has what waits longest started, unless an endpoint keeps it from that.
void ActorCell::next() {
  if (exclusive_ == nullptr && !waiting_.empty() && !next_job_.is_queued) {
    next_job_.is_queued = true;
    strand_.post(next_job_);
  }
}

void ActorCell::run_next() {
  next_job_.is_queued = false;
  if (exclusive_ != nullptr || waiting_.empty() || stop_requested()) {
    return;  // a stop answers those that wait
  }
  Envelope envelope = std::move(waiting_.front());
  waiting_.pop_front();
  run(std::move(envelope));
  next();
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

// Tells the sender that the message has left the mailbox: it may send another.
void ActorCell::taken(const Envelope& envelope) {
  const std::size_t bytes = envelope.message.size();
  const std::shared_ptr<Inbound>& channel = envelope.from.channel;
  if (channel == nullptr) {
    own_window_->give_back(1, bytes);
    return;
  }
  auto found = std::find_if(consumed_.begin(), consumed_.end(), [&](const Consumed& known) {
    return !known.channel.owner_before(channel) && !channel.owner_before(known.channel);
  });
  if (found == consumed_.end()) {
    std::erase_if(consumed_, [](const Consumed& known) { return known.channel.expired(); });
    consumed_.push_back({channel, 0, 0});
    found = consumed_.end() - 1;
  }
  ++found->messages;
  found->bytes += bytes;
  if (found->messages >= limits::kCreditMessages || found->bytes >= limits::kCreditBytes || buggify("early credit")) {
    channel->send(make_credit({found->messages, id(), found->bytes}));
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

void refuse_argument(std::size_t number, std::size_t count, std::string_view type, const Failure& why) {
  throw ArgumentsRefused{Failure(
      why.code(), fmt::format("argument {} of {} ({}) cannot be decoded: {}", number, count, type, why.detail()))};
}

void refuse_rest(std::size_t count, const Failure& why) {
  throw ArgumentsRefused{Failure(why.code(), fmt::format("it takes {} argument{}, and more bytes came: {}", count,
                                                         count == 1 ? "" : "s", why.detail()))};
}

void refuse_arity(std::size_t count) {
  throw ArgumentsRefused{
      Failure(errc::invalid_argument,
              fmt::format("no constructor takes {} argument{} behind the context (or several do: then name one by "
                          "`using arguments = ferry::arguments<…>`)",
                          count, count == 1 ? "" : "s"))};
}

}  // namespace detail

}  // namespace ferry
