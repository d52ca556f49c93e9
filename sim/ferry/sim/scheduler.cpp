#include <ferry/sim/scheduler.hpp>

#include <algorithm>

#include <ferry/base/check.hpp>

namespace ferry::sim {
namespace {

constexpr unsigned kProcessBits = Scheduler::kProcessBits;
constexpr std::uint64_t kProcessMask = (std::uint64_t{1} << kProcessBits) - 1;
constexpr std::uint64_t kReadyBit = std::uint64_t{1} << 63;  // of Timer::order: it is due and in the ready list

ProcessNumber process_of(const Timer& timer) noexcept {
  return ProcessNumber(static_cast<std::uint32_t>(timer.order & kProcessMask));
}

// Jobs and timers of a process are one lane; packets of one operation there are another, and what else has a number.
Lane lane_of(ProcessNumber process) noexcept {
  return process.value();
}
Lane lane_of(ProcessNumber process, StepKind kind, std::uint64_t number) noexcept {
  const bool is_packet = kind >= StepKind::sample;
  return process.value() | (2 * number + (is_packet ? 3 : 2)) << kProcessBits;
}

}  // namespace

Scheduler::Scheduler(ChoiceSource& choices, std::uint64_t step_budget) noexcept
    : choices_(choices), budget_(step_budget) {}

Scheduler::~Scheduler() {
  close();
}

Scheduler::End Scheduler::run(const Latch* latch) {
  const bool nested = depth_++ > 0;
  const std::uint64_t budget = nested ? budget_ + kNestedSteps : budget_;
  End end = End::set;
  while (latch == nullptr || !latch->is_set()) {
    if (stop_requested_ && !nested) {
      end = End::asked;
      break;
    }
    if (steps_ >= budget) {
      end = End::budget;
      break;
    }
    if (!step_once()) {
      end = End::nothing;
      break;
    }
  }
  --depth_;
  return end;
}

std::uint64_t Scheduler::choose(ChoiceKind kind, std::uint64_t n, std::uint64_t subject, std::uint64_t odds) noexcept {
  return ask({kind, n, subject, {}, odds});
}

std::uint64_t Scheduler::ask(const Question& question) noexcept {
  if (question.n < 2 || closed_) {
    return 0;
  }
  const std::uint64_t chosen = choices_.choose(question);
  if (chosen == ChoiceSource::kGiveUp) {
    stop_requested_ = true;
    return 0;
  }
  FERRY_CHECK(chosen < question.n);
  hash_.fold((question.n << 8 | static_cast<std::uint64_t>(question.kind)) ^ chosen << 40);
  return chosen;
}

bool Scheduler::leaves_out(std::uint64_t subject) noexcept {
  if (closed_ || !choices_.leaves_out(subject)) {
    return false;
  }
  hash_.fold(subject << 8 | static_cast<std::uint64_t>(ChoiceKind::omit));
  return true;
}

void Scheduler::add_ready(const Ready& ready, Lane lane) noexcept {
  if (!held_.empty()) {
    if (std::vector<Held>* held = held_for(ready)) {
      held->push_back({ready, lane});
      return;
    }
  }
  ready_.push_back(ready);
  lanes_.push_back(lane);
}

void Scheduler::remove_ready(std::size_t index) noexcept {
  ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(index));
  lanes_.erase(lanes_.begin() + static_cast<std::ptrdiff_t>(index));
}

void Scheduler::post(ProcessNumber process, Job& job) noexcept {
  if (!closed_) {
    add_ready({&job, process, What::job}, lane_of(process));
  }
}

void Scheduler::schedule(Step& step, StepKind kind, ProcessNumber process, std::uint64_t number,
                         Duration delay) noexcept {
  FERRY_CHECK(!step.is_scheduled());
  if (closed_) {
    return;
  }
  step.kind_ = kind;
  step.process_ = process;
  step.number_ = number;
  step.due_ = saturating_add(now_, delay);
  step.order_ = ++order_ << kProcessBits;
  step.cause_ = here();
  if (step.due_ <= now_) {
    make_ready(step);
  } else {
    step.state_ = Step::State::timed;
    steps_due_.insert(step);
  }
}

void Scheduler::withdraw(Step& step) noexcept {
  if (step.state_ == Step::State::timed) {
    steps_due_.erase(steps_due_.iterator_to(step));
  } else if (step.state_ == Step::State::ready) {
    forget_ready(&step);
  }
  step.state_ = Step::State::idle;
}

void Scheduler::start_timer(ProcessNumber process, Timer& timer, TimePoint due) noexcept {
  if (closed_) {
    return;
  }
  timer.started = true;
  timer.due = due;
  timer.order = ++order_ << kProcessBits | process.value();
  if (due <= now_) {
    make_ready(timer);
  } else {
    timers_.insert(timer);
  }
}

void Scheduler::cancel_timer(Timer& timer) noexcept {
  if (!timer.started) {
    return;
  }
  timer.started = false;
  if ((timer.order & kReadyBit) != 0) {
    forget_ready(&timer);
  } else {
    timers_.erase(timers_.iterator_to(timer));
  }
}

void Scheduler::record(StepKind kind, ProcessNumber process, std::uint64_t number) noexcept {
  if (closed_) {
    return;
  }
  ++steps_;
  hash_.fold(static_cast<std::uint64_t>(now_.time_since_epoch().count()));
  hash_.fold(number << 28 ^ std::uint64_t{process.value()} << 8 ^ static_cast<std::uint64_t>(kind));
  if (trace_ != nullptr) {
    tell(kind, process, number);
  }
}

void Scheduler::fold(std::uint64_t value) noexcept {
  if (!closed_) {
    hash_.fold(value);
  }
}

void Scheduler::fold_data(wire::ByteView payload) noexcept {
  if (!closed_) {
    data_.fold(payload);
  }
}

void Scheduler::close() noexcept {
  closed_ = true;
  close_held();
  for (const Ready& ready : ready_) {
    if (ready.what == What::step) {
      static_cast<Step*>(ready.thing)->state_ = Step::State::idle;
    } else if (ready.what == What::timer) {
      static_cast<Timer*>(ready.thing)->started = false;
    }
  }
  ready_.clear();
  lanes_.clear();
  steps_due_.clear_and_dispose([](Step* step) { step->state_ = Step::State::idle; });
  timers_.clear_and_dispose([](Timer* timer) { timer->started = false; });
}

bool Scheduler::step_once() noexcept {
  if (at_this_instant_ >= kPatience) {
    static_cast<void>(advance());
  }
  while (ready_.empty()) {  // what has become due may be of a process that is paused
    if (!advance()) {
      return false;
    }
  }
  const std::size_t index = pick();
  const Ready ready = ready_[index];
  remove_ready(index);
  ++at_this_instant_;
  run_ready(ready);
  return true;
}

// Moves time to the next thing that waits for it, and makes all that is due then ready, in order. False: there is none.
bool Scheduler::advance() noexcept {
  at_this_instant_ = 0;
  const TimePoint step_due = steps_due_.empty() ? kNever : steps_due_.begin()->due_;
  const TimePoint timer_due = timers_.empty() ? kNever : timers_.begin()->due;
  const TimePoint next = std::min(step_due, timer_due);
  if (next == kNever) {
    return false;  // at the end of time nothing happens
  }
  now_ = std::max(now_, next);
  for (;;) {
    Step* step = steps_due_.empty() ? nullptr : &*steps_due_.begin();
    Timer* timer = timers_.empty() ? nullptr : &*timers_.begin();
    const bool step_is_due = step != nullptr && step->due_ <= now_;
    const bool timer_is_due = timer != nullptr && timer->due <= now_;
    if (timer_is_due && (!step_is_due || Earlier()(*timer, *step))) {
      timers_.erase(timers_.begin());
      make_ready(*timer);
    } else if (step_is_due) {
      steps_due_.erase(steps_due_.begin());
      make_ready(*step);
    } else {
      return true;
    }
  }
}

void Scheduler::make_ready(Step& step) noexcept {
  step.state_ = Step::State::ready;
  add_ready({&step, step.process_, What::step}, lane_of(step.process_, step.kind_, step.number_));
}

void Scheduler::make_ready(Timer& timer) noexcept {
  timer.order |= kReadyBit;
  add_ready({&timer, process_of(timer), What::timer}, lane_of(process_of(timer)));
}

// The timers of one process fire in their order, whatever is chosen.
std::size_t Scheduler::pick() noexcept {
  if (ready_.size() == 1) {
    choices_.only(lanes_[0]);
    return 0;
  }
  const auto chosen = static_cast<std::size_t>(ask({ChoiceKind::next, ready_.size(), 0, lanes_}));
  if (ready_[chosen].what == What::timer) {
    for (std::size_t index = 0; index < chosen; ++index) {
      if (ready_[index].what == What::timer && ready_[index].process == ready_[chosen].process) {
        return index;
      }
    }
  }
  return chosen;
}

void Scheduler::run_ready(const Ready& ready) noexcept {
  running_.push_back(ready.process);
  run_thing(ready);
  running_.pop_back();
  for (std::size_t index = 0; index < after_step_.size();) {
    if (is_running(after_step_[index].first)) {
      ++index;
      continue;
    }
    const auto function = std::move(after_step_[index].second);
    after_step_.erase(after_step_.begin() + static_cast<std::ptrdiff_t>(index));
    function();
  }
  if (observer_ != nullptr) {
    observer_->after_step();
  }
}

void Scheduler::run_thing(const Ready& ready) noexcept {
  switch (ready.what) {
    case What::job:
      record(StepKind::job, ready.process, 0);
      static_cast<Job*>(ready.thing)->run();
      return;
    case What::step: {
      Step& step = *static_cast<Step*>(ready.thing);
      step.state_ = Step::State::idle;
      cause_ = step.cause_;
      record(step.kind_, step.process_, step.number_);
      step.function_(step);
      return;
    }
    case What::timer: {
      Timer& timer = *static_cast<Timer*>(ready.thing);
      timer.started = false;
      record(StepKind::timer, ready.process, 0);
      timer.fire();
      return;
    }
  }
}

void Scheduler::forget_ready(const void* thing) noexcept {
  if (forget_held(thing)) {
    return;
  }
  const auto found =
      std::find_if(ready_.begin(), ready_.end(), [thing](const Ready& ready) { return ready.thing == thing; });
  FERRY_CHECK(found != ready_.end());
  remove_ready(static_cast<std::size_t>(found - ready_.begin()));
}

}  // namespace ferry::sim
