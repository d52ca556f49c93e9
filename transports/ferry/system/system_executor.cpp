#include <ferry/system/system_executor.hpp>

#include <pthread.h>
#include <sys/timerfd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include <ferry/base/check.hpp>
#include <ferry/base/process_mark.hpp>
#include <ferry/system/offload_pool.hpp>
#include <ferry/system/system_error.hpp>
#include <ferry/system/thread_team.hpp>

namespace ferry::system {
namespace {

// From the first executor on, a child made by fork() knows that nothing of its parent is its own.
void mark_forks() {
  static const int installed = ::pthread_atfork(nullptr, nullptr, [] { mark_fork(); });
  FERRY_CHECK(installed == 0);
}

}  // namespace

Result<std::unique_ptr<SystemExecutor>> SystemExecutor::create(const SystemExecutorOptions& options) {
  mark_forks();
  auto loop = EventLoop::create();
  if (!loop) {
    return loop.error();
  }
  FileDescriptor tick(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
  if (!tick) {
    return system_failure(errno, "setting up the progress thread's tick");
  }
  try {
    auto team = std::make_unique<ThreadTeam>(std::move(*loop), std::move(tick), options);
    return std::unique_ptr<SystemExecutor>(new SystemExecutor(std::move(team), options));
  } catch (const std::system_error& error) {
    return system_failure(error.code().value(), "starting the executor's threads");
  }
}

SystemExecutor::SystemExecutor(std::unique_ptr<ThreadTeam> team, const SystemExecutorOptions& options)
    : team_(std::move(team)), offloaded_(std::make_unique<OffloadPool>(options.offload_threads)) {}
SystemExecutor::~SystemExecutor() = default;

void SystemExecutor::post(Job& job) noexcept {
  team_->post(job);
}
void SystemExecutor::offload(Job& job) noexcept {
  if (!offloaded_->post(job)) {
    team_->post(job);  // no thread to be had: it may hold up others, but it runs
  }
}
TimePoint SystemExecutor::now() const noexcept {
  return ThreadTeam::now();
}
void SystemExecutor::start_timer(Timer& timer, TimePoint due) noexcept {
  team_->start_timer(timer, due);
}
void SystemExecutor::cancel_timer(Timer& timer) noexcept {
  team_->cancel_timer(timer);
}
bool SystemExecutor::has_ready_work() const noexcept {
  return team_->has_ready_work();
}
void SystemExecutor::wait(const Latch& latch) noexcept {
  team_->wait(latch);
}
void SystemExecutor::add(EventSource& source) {
  team_->add(source);
}
void SystemExecutor::remove(EventSource& source) noexcept {
  team_->remove(source);
}
void SystemExecutor::wake() noexcept {
  team_->wake();
}
int SystemExecutor::fd() const noexcept {
  return team_->descriptor();
}
bool SystemExecutor::poll() noexcept {
  return team_->drive();
}
SystemExecutorStats SystemExecutor::stats() const noexcept {
  return team_->stats();
}

}  // namespace ferry::system
