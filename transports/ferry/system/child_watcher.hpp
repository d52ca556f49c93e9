// ChildWatcher: the one thread that starts a host's children, passes on what they write to stderr, and reaps them.
//
// It lives as long as the host, as the kernel ties children to the thread that started them. A stderr of this process
// that nobody reads holds up the children's writing, as it would without us, but neither starts nor ends.
// Owner: the host and the handles of its children.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <signal.h>

#include <ferry/base/executor.hpp>
#include <ferry/base/result.hpp>
#include <ferry/process/process_host.hpp>
#include <ferry/system/child_launch.hpp>
#include <ferry/system/file_descriptor.hpp>
#include <ferry/system/stderr_relay.hpp>

namespace ferry::system {

// One child, shared by its handle and the watcher.
class WatchedChild {
 public:
  WatchedChild(Launched launched, ChildEvents& events);

  pid_t pid() const noexcept { return pid_; }
  void kill() noexcept;

 private:
  friend class ChildWatcher;

  const pid_t pid_;
  const FileDescriptor pidfd_;
  const FileDescriptor death_pipe_;
  StderrRelay relay_;    // the watcher's
  bool reaped_ = false;  // the watcher's
  Latch ended_;          // reaped, and nobody is being told any more
  std::mutex mutex_;     // held while events_ is told
  ChildEvents* events_;  // null: nobody wants to know
};

class ChildWatcher {
 public:
  // wake: a non-blocking eventfd. Children begin with the calling thread's signal mask. Throws std::system_error if
  // the system gives no thread.
  explicit ChildWatcher(FileDescriptor wake);
  ~ChildWatcher();
  ChildWatcher(const ChildWatcher&) = delete;
  ChildWatcher& operator=(const ChildWatcher&) = delete;

  // Any thread but those that on_exit is called on.
  Result<std::shared_ptr<WatchedChild>> start(const SpawnRequest& request, ChildEvents& events);

  // Kills the child and waits until it is reaped; on_exit does not run afterwards. May be called from inside on_exit.
  void end(WatchedChild& child) noexcept;

 private:
  struct Order {
    const SpawnRequest& request;
    ChildEvents& events;
    Failure failure;
    std::shared_ptr<WatchedChild> child;
    Latch done;
  };

  bool is_current() const noexcept { return std::this_thread::get_id() == thread_.get_id(); }
  void signal() noexcept;
  void run();
  bool wait_for_something();
  void serve_orders();
  void reap(WatchedChild& child) noexcept;
  void write_lines() noexcept;

  const FileDescriptor wake_;
  sigset_t mask_;
  std::mutex mutex_;
  std::vector<Order*> orders_;
  bool stop_ = false;

  // The thread's.
  std::vector<std::shared_ptr<WatchedChild>> children_;
  std::string lines_;  // to be written to stderr

  std::thread thread_;
};

}  // namespace ferry::system
