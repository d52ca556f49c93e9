// Beside the loop: what a process has under way is dropped, held back while it is paused, due at another time; traces.
#include <ferry/sim/scheduler.hpp>

#include <algorithm>

#include <ferry/sim/outside.hpp>
#include <ferry/sim/trace.hpp>

namespace ferry::sim {
namespace {

constexpr std::uint64_t kProcessMask = (std::uint64_t{1} << Scheduler::kProcessBits) - 1;

}  // namespace

std::vector<Job*> Scheduler::drop(ProcessNumber process) noexcept {
  std::vector<Job*> jobs;
  std::size_t kept = 0;
  for (std::size_t index = 0; index < ready_.size(); ++index) {
    const Ready& ready = ready_[index];
    if (ready.process != process || ready.what == What::step) {
      lanes_[kept] = lanes_[index];
      ready_[kept++] = ready;
    } else if (ready.what == What::timer) {
      static_cast<Timer*>(ready.thing)->started = false;
    } else {
      jobs.push_back(static_cast<Job*>(ready.thing));
    }
  }
  ready_.resize(kept);
  lanes_.resize(kept);
  drop_held(process, jobs);
  for (auto at = timers_.begin(); at != timers_.end();) {
    Timer& timer = *at++;
    if ((timer.order & kProcessMask) == process.value()) {
      cancel_timer(timer);
    }
  }
  return jobs;
}

bool Scheduler::is_running(ProcessNumber process) const noexcept {
  return std::find(running_.begin(), running_.end(), process) != running_.end();
}

void Scheduler::call_after_step(ProcessNumber process, std::function<void()> function) {
  after_step_.emplace_back(process, std::move(function));
}

// Apart from record(), which is on every step's way.
void Scheduler::tell(StepKind kind, ProcessNumber process, std::uint64_t number) {
  const OutsideWorld outside;
  trace_->on_step({steps_, now_, process, kind, number, cause_, hash(), data()});
  cause_ = {};
}

bool Scheduler::is_of_the_process(const Ready& ready) noexcept {
  return ready.what != What::step || sim::is_of_the_process(static_cast<const Step*>(ready.thing)->kind_);
}

std::vector<Scheduler::Held>* Scheduler::held_for(const Ready& ready) noexcept {
  const auto found = held_.find(ready.process);
  return found != held_.end() && is_of_the_process(ready) ? &found->second : nullptr;
}

void Scheduler::pause(ProcessNumber process) {
  if (closed_ || !held_.try_emplace(process).second) {
    return;
  }
  std::vector<Held>& held = held_[process];
  std::size_t kept = 0;
  for (std::size_t index = 0; index < ready_.size(); ++index) {
    if (ready_[index].process == process && is_of_the_process(ready_[index])) {
      held.push_back({ready_[index], lanes_[index]});
    } else {
      lanes_[kept] = lanes_[index];
      ready_[kept++] = ready_[index];
    }
  }
  ready_.resize(kept);
  lanes_.resize(kept);
}

void Scheduler::resume(ProcessNumber process) noexcept {
  const auto found = held_.find(process);
  if (found == held_.end()) {
    return;
  }
  const std::vector<Held> held = std::move(found->second);
  held_.erase(found);
  for (const Held& thing : held) {
    add_ready(thing.ready, thing.lane);
  }
}

void Scheduler::retime(ProcessNumber process, const std::function<TimePoint(TimePoint)>& anew) {
  std::vector<Timer*> timers;
  for (Timer& timer : timers_) {
    if ((timer.order & kProcessMask) == process.value()) {
      timers.push_back(&timer);
    }
  }
  for (Timer* timer : timers) {
    timers_.erase(timers_.iterator_to(*timer));
  }
  for (Timer* timer : timers) {
    timer->due = std::max(anew(timer->due), now_);  // one that is due now fires when time is looked at next
    timers_.insert(*timer);
  }
}

bool Scheduler::forget_held(const void* thing) noexcept {
  for (auto& [process, held] : held_) {
    const auto found =
        std::find_if(held.begin(), held.end(), [thing](const Held& one) { return one.ready.thing == thing; });
    if (found != held.end()) {
      held.erase(found);
      return true;
    }
  }
  return false;
}

// A dead process is not paused: what is left, news of its channels, meets nobody.
void Scheduler::drop_held(ProcessNumber process, std::vector<Job*>& jobs) noexcept {
  const auto found = held_.find(process);
  if (found == held_.end()) {
    return;
  }
  std::erase_if(found->second, [&jobs](const Held& held) {
    if (held.ready.what == What::timer) {
      static_cast<Timer*>(held.ready.thing)->started = false;
    } else if (held.ready.what == What::job) {
      jobs.push_back(static_cast<Job*>(held.ready.thing));
    }
    return held.ready.what != What::step;
  });
  resume(process);
}

void Scheduler::close_held() noexcept {
  while (!held_.empty()) {
    resume(ProcessNumber(held_.begin()->first));
  }
}

}  // namespace ferry::sim
