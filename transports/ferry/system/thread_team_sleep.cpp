// How executor threads go to sleep and are woken. All decisions that cross threads are sequentially consistent:
// whoever goes to sleep first says so and then looks for work; whoever brings work first puts it down and then looks
// who sleeps. One of the two sees the other.
#include <algorithm>
#include <utility>

#include <ferry/base/check.hpp>
#include <ferry/system/thread_team.hpp>

namespace ferry::system {

void ThreadTeam::wake() noexcept {
  requests_.fetch_add(1);
  if (asleep_.load() && asleep_.exchange(false)) {
    loop_->kick();
  }
}

void ThreadTeam::add(EventSource& source) {
  sources_.add(source);
  wake();
}

void ThreadTeam::start_timer(Timer& timer, TimePoint due) noexcept {
  if (timers_.start(timer, due) && asleep_.load()) {
    loop_->set_alarm(due);
  }
}

bool ThreadTeam::take_lead(SourceSet::Leader leader) noexcept {
  if (!sources_.try_lead(leader)) {
    return false;
  }
  asleep_.store(false);
  return true;
}

// Somebody sits in the event loop and the sources are armed there: nothing will be missed.
bool ThreadTeam::is_covered() const noexcept {
  return asleep_.load() && sitter_.load() != Sitter::nobody;
}

// Before a thread that may have led runs a job, for however long.
void ThreadTeam::cover_sources() noexcept {
  if (is_covered()) {
    return;
  }
  if (sitter_.load() == Sitter::progress) {
    make_progress_leave();
  }
  keep_ticking();
}

// The leader goes to sleep: in the event loop, or parked if another executor thread sits there. True: it slept and
// no longer leads. False: there is something to do first.
bool ThreadTeam::fall_asleep(Worker& worker, std::uint64_t seen) noexcept {
  Sitter sitter = Sitter::nobody;
  const bool sits = sitter_.compare_exchange_strong(sitter, Sitter::executor);
  if (!sits && sitter == Sitter::progress) {
    make_progress_leave();
    return false;
  }
  asleep_.store(true);
  if (sits) {
    idle_.fetch_add(kInLoop - kLooking);
  }
  const bool ready = sources_.prepare_to_sleep() && requests_.load() == seen && injector_.empty() &&
                     worker.ring.size() == 0 && !stopping_.load();
  if (ready) {
    loop_->set_alarm(timers_.next_due());
    sources_.stop_leading();
    if (sits) {
      note_sleep(worker);
      sit();
    } else {
      park(worker);
    }
  } else {
    asleep_.store(false);
  }
  if (sits) {
    stop_sitting();
  }
  return ready;
}

void ThreadTeam::sit() noexcept {
  EventLoop::Woken woken;
  loop_->wait(true, woken);
  if (woken.count > 0) {
    sources_.fired({woken.ids.data(), woken.count});
    requests_.fetch_add(1);  // whoever is about to sleep has counted on what is no longer armed
  }
}

void ThreadTeam::stop_sitting() noexcept {
  std::uint32_t idle = idle_.load();
  while ((idle & kInLoop) != 0 && !idle_.compare_exchange_weak(idle, idle - kInLoop + kLooking)) {
  }
  sitter_.store(Sitter::nobody);
}

// Sleeps until another thread decides to wake this one; not at all if there is a job, or if nobody serves the sources.
void ThreadTeam::park(Worker& worker) noexcept {
  {
    const std::lock_guard lock(park_mutex_);
    parked_.push_back(&worker);
    idle_.fetch_add(kParked - kLooking);
  }
  const bool needed =
      !injector_.empty() || stopping_.load() || !(sources_.leader() == SourceSet::Leader::executor || is_covered());
  if (needed && unpark(worker)) {
    return;
  }
  note_sleep(worker);
  parks_.fetch_add(1, std::memory_order_relaxed);
  worker.parker.park();
}

// False: another thread has decided to wake it and will.
bool ThreadTeam::unpark(Worker& worker) noexcept {
  const std::lock_guard lock(park_mutex_);
  const auto at = std::find(parked_.begin(), parked_.end(), &worker);
  if (at == parked_.end()) {
    return false;
  }
  parked_.erase(at);
  idle_.fetch_add(kLooking - kParked);
  return true;
}

// Wakes one sleeping executor thread, a parked one first so that the event loop stays occupied. False: none sleeps.
bool ThreadTeam::wake_one() noexcept {
  Worker* parked = nullptr;
  {
    const std::lock_guard lock(park_mutex_);
    if (!parked_.empty()) {
      parked = parked_.back();
      parked_.pop_back();
      idle_.fetch_add(kLooking - kParked);
    }
  }
  if (parked != nullptr) {
    unparks_.fetch_add(1, std::memory_order_relaxed);
    parked->parker.wake();
    return true;
  }
  std::uint32_t idle = idle_.load();
  while ((idle & kInLoop) != 0) {
    if (idle_.compare_exchange_weak(idle, idle - kInLoop + kLooking)) {
      loop_->kick();
      return true;
    }
  }
  return false;
}

// Where a thread that looked goes to sleep.
void ThreadTeam::note_sleep(Worker& worker) noexcept {
  // A busy thread may have kept a job to itself because this one looked.
  if (has_waiting_jobs()) {
    keep_ticking();
  }
  if (std::exchange(worker.slept, true)) {
    wasted_wakes_.fetch_add(1, std::memory_order_relaxed);
  }
}

void ThreadTeam::stop_looking(Worker& worker, bool found) noexcept {
  if (found && std::exchange(worker.slept, false)) {
    wasted_wakes_.store(0, std::memory_order_relaxed);
  }
  const std::uint32_t idle = idle_.fetch_sub(kLooking) - kLooking;
  // Whoever posted meanwhile woke nobody, because this thread was looking.
  if (found && wants_wake(idle) && (worker.ring.size() > 0 || !injector_.empty())) {
    wake_one();
  }
}

}  // namespace ferry::system
