// Waiter: one suspended await. Woken exactly once, by whatever completes it, from any thread; resumed on its strand.
// A stop request or the deadline does not wake it but asks it to give up, which must lead to wake() sooner or later.
//
// Owner: the awaiting frame. Use in an awaitable:
//   constructor:            Waiter(&give_up), a static function of the awaitable, or Waiter(&cannot_give_up);
//   await_suspend(handle):  begin(handle, limits);  start what will wake();  return commit();
//   await_resume():         end();
//   destructor:             end();  end what would wake, or wait until it has;
// wake() before begin() is allowed: commit() then returns false and nothing suspends. A dropped await that was woken
// takes its resumption back, so dropping happens on the strand (or where the executor has halted).
#pragma once

#include <atomic>
#include <coroutine>
#include <optional>

#include <ferry/base/errc.hpp>
#include <ferry/base/executor.hpp>
#include <ferry/base/failure.hpp>
#include <ferry/base/job.hpp>
#include <ferry/base/scope.hpp>

namespace ferry {

// What an await says that ends because of a stop; a sentence, or the beginning of one.
inline constexpr const char* kStopRequested = "a stop was requested";

class Waiter : private Job, private Timer {
 public:
  // An awaitable may be copied or moved until it is awaited; the copy is a fresh waiter.
  Waiter(const Waiter& other) noexcept : Waiter(other.give_up_, other.has_progressed_) {}
  Waiter& operator=(const Waiter&) = delete;

  // Any thread. The frame may be gone when it returns.
  void wake() noexcept;

  // True once wake() was called.
  bool is_woken() const noexcept { return state_.load(std::memory_order_acquire) == State::woken; }

  // Counts an await that ended in place, having moved that many bytes. True: others wait and this step has had its
  // share, so the await shall yield() (decision 1: a long run of them must not starve timers and other actors).
  static bool should_yield(std::size_t bytes) noexcept { return InlineBudget::current().spend(bytes) && others_wait(); }

  // For an await that may end in place, before it begins anything: cancelled if its own stop was requested; cancelled
  // or timed_out if its task is to end, which is looked at each time an InlineBudget has been spent, so that a loop of
  // such awaits is cut too; else none. What it refuses has had no effect.
  static Failure refusal(const Limits& limits) noexcept {
    return may_be_refused(limits) ? why_refused(limits) : Failure();
  }
  // False: refusal() would be none.
  static bool may_be_refused(const Limits& limits) noexcept {
    return InlineBudget::current().is_spent() || limits.stop.stop_requested();
  }

 protected:
  // What an await does when it is asked to. Not virtual: another thread may ask until end() has returned, and where a
  // base of the awaitable calls that, the destructors before have changed the pointer to the virtual functions.
  //
  // Asked on a stop request (cancelled) or a passed deadline (timed_out); any thread, at most a few times.
  using GiveUp = void (*)(Waiter& self, errc reason) noexcept;
  // Asked every check interval whether anything has moved since; false makes it give up (timed_out).
  using HasProgressed = bool (*)(Waiter& self) noexcept;

  explicit Waiter(GiveUp give_up, HasProgressed has_progressed = nullptr) noexcept;

  // For an await that a stop or deadline does not end: what it is for ends soon by itself.
  static void cannot_give_up(Waiter&, errc) noexcept {}

  // The failure of an await that gave up: for a stop, or for a deadline, in the await's own words.
  static Failure given_up(errc reason, const char* timed_out) {
    return Failure(reason, reason == errc::timed_out ? timed_out : kStopRequested);
  }

  // Withdraws a resumption that has not run. The derived destructor has called end() and has ended what would wake.
  ~Waiter();

  // Registers with the current scope and the limits. Throws Error: invalid_argument outside a task, wrong_process in a
  // fork.
  // check_interval: how often HasProgressed is asked; zero for never.
  void begin(std::coroutine_handle<> handle, const Limits& limits, Duration check_interval = Duration::zero());
  // begin() in two halves, for an await that must know its deadline() before it starts what it waits for: bind() sets
  // the deadline, watch() arms timer and stop tokens. It is not asked to give up before watch().
  void bind(std::coroutine_handle<> handle, const Limits& limits);
  void watch(const Limits& limits, Duration check_interval = Duration::zero());
  // True: suspended, wake() resumes. False: already woken.
  bool commit() noexcept;
  // Suspends and resumes behind whatever else is ready. For an await that need not wait but should yield. In a task.
  void yield(std::coroutine_handle<> handle) noexcept;
  // Ends timer and stop callbacks; none of them runs afterwards. Idempotent.
  void end() noexcept;

  TimePoint deadline() const noexcept { return deadline_; }

 private:
  enum class State : unsigned char { idle, suspended, woken };
  struct Stop {
    Waiter* waiter;
    void operator()() const noexcept { waiter->give_up_(*waiter, errc::cancelled); }
  };

  static bool others_wait() noexcept;
  static Failure why_refused(const Limits& limits) noexcept;
  // True if a timer was needed and started.
  bool arm(TimePoint now) noexcept;
  static void resume(Job& job) noexcept;
  static void expire(Timer& timer) noexcept;

  const GiveUp give_up_;
  const HasProgressed has_progressed_;
  std::atomic<State> state_{State::idle};
  bool active_ = false;   // between begin() and end()
  bool yielded_ = false;  // not woken by what it waited for: another InlineBudget has been spent
  bool timed_ = false;
  std::coroutine_handle<> handle_;
  TaskScope* scope_ = nullptr;
  TimePoint deadline_ = kNever;
  Duration check_interval_{};
  std::optional<std::stop_callback<Stop>> scope_stop_;
  std::optional<std::stop_callback<Stop>> own_stop_;
};

}  // namespace ferry
