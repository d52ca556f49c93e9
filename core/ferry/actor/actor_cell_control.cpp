// What passes an actor's mailbox by: cancelling calls, stopping.
#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include <ferry/actor/activation.hpp>
#include <ferry/actor/actor_cell.hpp>
#include <ferry/actor/actor_runtime.hpp>
#include <ferry/transport/node_core.hpp>

namespace ferry {

void ActorCell::cancel(std::shared_ptr<ActorCell> self, const std::shared_ptr<Inbound>& channel, CallId call) {
  {
    const std::lock_guard lock(urgent_mutex_);
    cancelled_.push_back({channel.get(), call});
    is_urgent_.store(true, std::memory_order_release);
  }
  auto job = std::make_unique<Control>(std::move(self));
  job->cancelled = {channel, call};
  strand_.post(*job.release());
}

void ActorCell::stop(std::shared_ptr<ActorCell> self, const Failure& why, StopDone done) {
  {
    const std::lock_guard lock(urgent_mutex_);
    if (!stop_requested_) {
      stop_requested_ = why;
      is_urgent_.store(true, std::memory_order_release);
    }
  }
  auto job = std::make_unique<Control>(std::move(self));
  job->why = why;
  job->done = std::move(done);
  strand_.post(*job.release());
}

Failure ActorCell::stop_requested() const {
  if (!is_urgent_.load(std::memory_order_acquire)) {
    return {};
  }
  const std::lock_guard lock(urgent_mutex_);
  return stop_requested_;
}

// Takes the call off the list of those that were cancelled before they arrived.
bool ActorCell::was_cancelled(const Envelope& envelope) {
  if (!envelope.from.call || !is_urgent_.load(std::memory_order_acquire)) {
    return false;
  }
  const std::lock_guard lock(urgent_mutex_);
  const bool found = std::erase_if(cancelled_, [&](const Cancelled& one) {
                       return one.channel == envelope.from.channel.get() && one.call == envelope.from.call;
                     }) != 0;
  is_urgent_.store(stop_requested_ || !cancelled_.empty(), std::memory_order_release);
  return found;
}

void ActorCell::withdraw(const Inbound* channel, CallId call) {
  {
    const std::lock_guard lock(urgent_mutex_);
    const auto not_met =
        std::erase_if(cancelled_, [&](const Cancelled& one) { return one.channel == channel && one.call == call; });
    is_urgent_.store(stop_requested_ || !cancelled_.empty(), std::memory_order_release);
    if (not_met == 0) {
      return;  // it was dropped as it arrived
    }
  }
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

void ActorCell::describe_waits(std::vector<std::string>& phrases) const {
  for (const auto& activation : running_) {
    phrases.push_back(fmt::format("the end of {}::{} of actor \"{}\"", class_.name, activation->endpoint.name, name()));
  }
  if (!waiting_.empty() && !running_.empty()) {
    phrases.back() += fmt::format(", with {} request{} behind it", waiting_.size(), waiting_.size() == 1 ? "" : "s");
  }
}

void ActorCell::do_stop(const Failure& why) noexcept {
  if (!stopped_) {
    stopped_ = why;
  }
  // Those that have ended, and whose last job has not run, have a result to give.
  for (auto at = running_.begin(); at != running_.end();) {
    Activation& activation = **at++;
    if (activation.is_done) {
      strand_.withdraw(activation);
      finished(activation);
    }
  }
  for (const auto& activation : running_) {
    activation->stop.request_stop();  // work that was offloaded and looks at the token ends
  }
  for (const auto& activation : running_) {
    activation->task.reset();  // cancels what it waits for, and waits until that is quiet
    runtime_.reply_failure(activation->envelope.from, stopped_.with_effect(Effect::unknown));
  }
  running_.clear();
  exclusive_ = nullptr;
  if (std::exchange(next_job_.is_queued, false)) {
    strand_.withdraw(next_job_);
  }
  for (const Envelope& envelope : waiting_) {
    refuse(envelope, stopped_);
  }
  waiting_.clear();
  if (actor_ != nullptr) {
    const NodeCore& node = runtime_.node();
    context_.registrations().revoke_all(saturating_add(node.executor().now(), node.limits().quiet_grace));
    actor_->on_stop();
    actor_.reset();
  }
}

}  // namespace ferry
