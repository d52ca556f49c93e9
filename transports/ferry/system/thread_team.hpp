// ThreadTeam: the threads of a SystemExecutor and who of them does what: runs jobs, leads (polls the sources), sits in
// the event loop, or is parked.
//
// An executor thread without a job leads if nobody else does: it polls for the spin time, then sits in the event loop,
// or parks if another sits there already. A job that is posted wakes a thread only if none is looking for one. The
// progress thread ticks while jobs run and nobody covers the sources; when a tick finds that nobody has polled since
// the last, it wakes a thread to lead, or leads itself where jobs keep all of them busy.
//
// Owner: the SystemExecutor. Every public function: any thread. thread_team.cpp has the executor threads,
// thread_team_sleep.cpp how threads go to sleep and are woken, thread_team_progress.cpp the progress thread, and
// thread_team_driven.cpp the case that a foreign event loop drives it all.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <ferry/base/executor.hpp>
#include <ferry/system/event_loop.hpp>
#include <ferry/system/injector.hpp>
#include <ferry/system/parker.hpp>
#include <ferry/system/run_ring.hpp>
#include <ferry/system/source_set.hpp>
#include <ferry/system/spin_time.hpp>
#include <ferry/system/system_executor.hpp>
#include <ferry/system/timer_queue.hpp>

namespace ferry::system {

class ThreadTeam {
 public:
  // `tick`: a timerfd for the progress thread. Throws std::system_error if the system gives no thread.
  ThreadTeam(std::unique_ptr<EventLoop> loop, FileDescriptor tick, const SystemExecutorOptions& options);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  void post(Job& job) noexcept;
  bool has_ready_work() const noexcept;
  void wait(const Latch& latch) noexcept;

  void start_timer(Timer& timer, TimePoint due) noexcept;
  void cancel_timer(Timer& timer) noexcept { timers_.cancel(timer); }

  void add(EventSource& source);
  void remove(EventSource& source) noexcept { sources_.remove(source); }
  void wake() noexcept;

  int descriptor() const noexcept { return loop_->descriptor(); }
  bool drive() noexcept;

  SystemExecutorStats stats() const noexcept;

  static TimePoint now() noexcept;

 private:
  struct alignas(64) Worker {
    Worker(ThreadTeam& owner, std::size_t number, std::size_t workers) : team(owner), index(number), seen(workers) {}

    ThreadTeam& team;
    const std::size_t index;
    RunRing ring;
    Parker parker;
    std::atomic<std::uint64_t> started{0};  // jobs; written by the owner, watched by those who would steal
    std::atomic<std::uint64_t> stolen{0};   // jobs that the owner took from others

    // The owner's.
    std::uint32_t since_poll = 0;   // jobs run
    std::uint32_t quiet_posts = 0;  // posts that are still to wake nobody
    bool slept = false;             // has run no job since it slept
    struct Seen {
      std::uint64_t started = 0;
      TimePoint since{};
    };
    std::vector<Seen> seen;  // of each worker, when its queue was last looked at
  };

  // Who sits in the event loop.
  enum class Sitter : std::uint8_t { nobody, executor, progress };

  // The idle executor threads in one word: how many look for work, how many are parked, and whether one sits in the
  // event loop. A thread that is woken counts as looking from the moment that somebody decides to wake it.
  static constexpr std::uint32_t kLooking = 1;
  static constexpr std::uint32_t kParked = 1U << 12;
  static constexpr std::uint32_t kInLoop = 1U << 24;
  static constexpr std::size_t kMaxWorkers = kParked - 1;
  static constexpr std::uint32_t looking(std::uint32_t idle) noexcept { return idle & (kParked - 1); }
  static constexpr std::uint32_t asleep(std::uint32_t idle) noexcept { return idle / kParked; }
  // Whether to wake somebody about a job: nobody looks, and there is somebody to wake.
  static constexpr bool wants_wake(std::uint32_t idle) noexcept { return looking(idle) == 0 && asleep(idle) != 0; }

  // The calling thread's; null outside executor threads.
  static Worker*& current_worker() noexcept;
  void stop() noexcept;

  // Executor threads.
  void run_executor(Worker& worker) noexcept;
  void run_jobs(Worker& worker, Job& first) noexcept;
  void run_job(Worker& worker, Job& job) noexcept;
  Job* next_job(Worker& worker) noexcept;
  Job* find_job(Worker& worker, TimePoint now) noexcept;
  Job* steal(Worker& worker, TimePoint now) noexcept;
  Job* look_for_job(Worker& worker) noexcept;
  Job* lead(Worker& worker) noexcept;
  void poll_between_jobs() noexcept;
  bool poll_once() noexcept;
  bool fire_timers(TimePoint at) noexcept;
  void wake_for_local_job(Worker& worker) noexcept;

  // Going to sleep and waking up.
  bool take_lead(SourceSet::Leader leader) noexcept;
  bool is_covered() const noexcept;
  void cover_sources() noexcept;
  bool fall_asleep(Worker& worker, std::uint64_t seen) noexcept;
  void sit() noexcept;
  void park(Worker& worker) noexcept;
  bool unpark(Worker& worker) noexcept;
  bool wake_one() noexcept;
  void stop_sitting() noexcept;
  void note_sleep(Worker& worker) noexcept;
  void stop_looking(Worker& worker, bool found) noexcept;

  // The progress thread.
  void run_progress() noexcept;
  void wait_for_tick() noexcept;
  void set_tick(bool on) noexcept;
  void keep_ticking() noexcept;
  void stop_ticking() noexcept;
  bool has_waiting_jobs() const noexcept;
  bool has_stuck_jobs(std::vector<std::uint64_t>& started) const noexcept;
  void lead_as_progress() noexcept;
  bool prepare_to_sit_as_progress(std::uint64_t seen) noexcept;
  void make_progress_leave() noexcept;

  // Driven from outside.
  void begin_driven() noexcept;
  void wait_driven(const Latch& latch) noexcept;

  const std::unique_ptr<EventLoop> loop_;
  const FileDescriptor tick_;
  SpinTime spin_time_;  // the leader's
  const bool driven_;

  SourceSet sources_;
  TimerQueue timers_;
  Injector injector_;
  std::vector<std::unique_ptr<Worker>> workers_;

  alignas(64) std::atomic<std::uint32_t> idle_{0};
  std::atomic<std::uint32_t> wasted_wakes_{0};  // in a row: threads that woke, found no job and slept again
  std::mutex park_mutex_;
  std::vector<Worker*> parked_;

  alignas(64) std::atomic<Sitter> sitter_{Sitter::nobody};
  std::atomic<bool> asleep_{false};           // the sources are prepared for a sleep, and nobody has polled since
  std::atomic<bool> progress_kicked_{false};  // the progress thread was told to leave the event loop
  std::atomic<bool> ticking_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<std::uint64_t> requests_{0};  // to look once more before going to sleep

  alignas(64) std::atomic<std::uint64_t> polls_{0};  // passes over the sources; written by executor threads that lead
  std::atomic<std::uint64_t> progress_polls_{0};
  std::atomic<std::uint64_t> ticks_{0};
  std::atomic<std::uint64_t> tick_changes_{0};
  std::atomic<std::uint64_t> parks_{0};
  std::atomic<std::uint64_t> unparks_{0};

  std::vector<std::thread> threads_;
};

}  // namespace ferry::system
