#include <ferry/system/child_watcher.hpp>

#include <limits.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include <ferry/base/check.hpp>
#include <ferry/system/thread_setup.hpp>

namespace ferry::system {
namespace {

// Lines that nobody takes, in bytes; above it children have to wait with theirs.
constexpr std::size_t kUnwritten = 256U << 10;

// How long an unfinished line is waited for, and at the end for somebody to take what is left; milliseconds.
constexpr int kUnfinishedLine = 100;
constexpr int kLastLines = 1000;

// The most that an unprivileged process can make a pipe hold, in bytes.
constexpr std::size_t kPipe = 1U << 20;

ProcessExit exit_of(pid_t pid, const FileDescriptor& pidfd) noexcept {
  siginfo_t info{};
  int result = 0;
  do {
    result = ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd.get()), &info, WEXITED);
  } while (result != 0 && errno == EINTR);
  ProcessExit exit;
  if (result != 0 || info.si_pid != pid) {
    // Somebody else in this process waits for every child, or has told the system to drop them (SIGCHLD ignored).
    exit.how = ProcessExit::How::unknown;
    return exit;
  }
  exit.how = info.si_code == CLD_EXITED ? ProcessExit::How::exited : ProcessExit::How::killed_by_signal;
  exit.value = info.si_status;
  return exit;
}

}  // namespace

WatchedChild::WatchedChild(Launched launched, ChildEvents& events)
    : pid_(launched.pid),
      pidfd_(std::move(launched.pidfd)),
      death_pipe_(std::move(launched.death_pipe)),
      relay_(std::move(launched.stderr_pipe)),
      events_(&events) {}

void WatchedChild::kill() noexcept {
  ::syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0);
}

ChildWatcher::ChildWatcher(FileDescriptor wake) : wake_(std::move(wake)) {
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask_);
  const std::lock_guard lock(mutex_);  // is_current() needs thread_
  thread_ = start_thread("ferry-children", [this] { run(); });
}

ChildWatcher::~ChildWatcher() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  signal();
  thread_.join();
}

void ChildWatcher::signal() noexcept {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(wake_.get(), &one, sizeof one));
}

Result<std::shared_ptr<WatchedChild>> ChildWatcher::start(const SpawnRequest& request, ChildEvents& events) {
  FERRY_CHECK(!is_current());
  Order order{request, events, {}, {}, {}};
  {
    const std::lock_guard lock(mutex_);
    orders_.push_back(&order);
  }
  signal();
  order.done.block();
  if (order.failure) {
    return order.failure;
  }
  return std::move(order.child);
}

void ChildWatcher::end(WatchedChild& child) noexcept {
  if (is_current()) {
    child.events_ = nullptr;  // told on this thread, or not yet
    if (!child.reaped_) {
      child.kill();
      reap(child);
    }
    return;
  }
  {
    const std::lock_guard lock(child.mutex_);
    child.events_ = nullptr;
  }
  child.kill();
  child.ended_.block();
}

void ChildWatcher::run() {
  { const std::lock_guard lock(mutex_); }
  while (wait_for_something()) {
    serve_orders();
  }
  // Nobody is left who could be told; what was written is passed on if somebody takes it.
  pollfd ready{STDERR_FILENO, POLLOUT, 0};
  while (!lines_.empty() && ::poll(&ready, 1, kLastLines) == 1) {
    write_lines();
  }
}

// False: the watcher stops.
bool ChildWatcher::wait_for_something() {
  const bool full = lines_.size() > kUnwritten;
  std::vector<pollfd> waits{{wake_.get(), POLLIN, 0}, {lines_.empty() ? -1 : STDERR_FILENO, POLLOUT, 0}};
  bool unfinished = false;
  for (const auto& child : children_) {
    waits.push_back({child->reaped_ ? -1 : child->pidfd_.get(), POLLIN, 0});
    waits.push_back({full ? -1 : child->relay_.descriptor(), POLLIN, 0});
    unfinished |= child->relay_.has_unfinished_line();
  }
  const int ready = ::poll(waits.data(), waits.size(), unfinished ? kUnfinishedLine : -1);
  if (ready < 0) {
    FERRY_CHECK(errno == EINTR || errno == ENOMEM);
    return true;
  }
  std::uint64_t count = 0;
  static_cast<void>(!::read(wake_.get(), &count, sizeof count));
  // on_exit may end other children, but none are added here.
  for (std::size_t index = 0; index < children_.size(); ++index) {
    WatchedChild& child = *children_[index];
    if (waits[2 * index + 3].revents != 0) {
      child.relay_.read(lines_);
    } else if (ready == 0) {
      child.relay_.flush(lines_, false);
    }
    if (waits[2 * index + 2].revents != 0 && !child.reaped_) {
      reap(child);
    }
  }
  // A child's own children may write to its stderr for longer than it lives.
  std::erase_if(children_, [](const auto& child) { return child->reaped_ && child->relay_.descriptor() < 0; });
  write_lines();
  const std::lock_guard lock(mutex_);
  return !stop_;
}

void ChildWatcher::serve_orders() {
  std::vector<Order*> orders;
  {
    const std::lock_guard lock(mutex_);
    orders.swap(orders_);
  }
  for (Order* order : orders) {
    auto launched = launch(order->request, mask_);
    std::shared_ptr<WatchedChild> child;
    if (launched) {
      child = std::make_shared<WatchedChild>(std::move(*launched), order->events);
      children_.push_back(child);
      order->child = child;
    } else {
      order->failure = launched.error();
    }
    order->done.set();
    if (child != nullptr && !child->pidfd_) {
      reap(*child);
    }
  }
}

// The child has ended or is about to. Tells so, after all that it wrote was read.
void ChildWatcher::reap(WatchedChild& child) noexcept {
  ProcessExit exit = exit_of(child.pid_, child.pidfd_);
  child.reaped_ = true;
  // What the pipe holds; more comes only from processes that the child has left behind.
  for (std::size_t read = 0; read < kPipe && child.relay_.read(lines_); read += StderrRelay::kTurn) {
  }
  child.relay_.flush(lines_, true);
  exit.last_words = child.relay_.last_words();
  {
    const std::unique_lock lock(child.mutex_);
    if (ChildEvents* events = std::exchange(child.events_, nullptr)) {
      events->on_exit(exit);
    }
  }
  child.ended_.set();
}

// Only where it does not block: at most PIPE_BUF bytes at a time, of whole lines if they fit.
void ChildWatcher::write_lines() noexcept {
  std::size_t written = 0;
  while (written < lines_.size()) {
    pollfd ready{STDERR_FILENO, POLLOUT, 0};
    if (::poll(&ready, 1, 0) != 1) {
      break;
    }
    std::string_view next = std::string_view(lines_).substr(written, PIPE_BUF);
    if (const std::size_t end = next.find_last_of('\n'); end != std::string_view::npos) {
      next = next.substr(0, end + 1);
    }
    const ssize_t count = ::write(STDERR_FILENO, next.data(), next.size());
    if (count < 0 && errno == EAGAIN) {
      break;
    }
    if (count < 0 && errno != EINTR) {
      written = lines_.size();  // closed: there is nobody to read it
    }
    written += count > 0 ? static_cast<std::size_t>(count) : 0;
  }
  lines_.erase(0, written);
}

}  // namespace ferry::system
