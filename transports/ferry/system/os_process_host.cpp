#include <ferry/system/os_process_host.hpp>

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <ferry/base/executor.hpp>
#include <ferry/system/child_launch.hpp>
#include <ferry/system/system_error.hpp>
#include <ferry/system/thread_setup.hpp>

namespace ferry::system {
namespace {

constexpr std::size_t kLastWords = 4096;

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) {
    text.pop_back();
  }
  return text;
}

}  // namespace

// One child, shared by its handle and the watcher.
struct OsProcessHost::Watched {
  Watched(Launched from, ChildEvents& to) : launched(std::move(from)), events(&to) {}

  // Passes on what the child has written; false at its end.
  bool pass_on() {
    std::array<char, 4096> buffer{};
    for (;;) {
      const ssize_t got = ::read(launched.stderr_pipe.get(), buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) {
        continue;
      }
      if (got <= 0) {
        return got < 0;
      }
      const auto count = static_cast<std::size_t>(got);
      last_words.append(buffer.data(), count);
      if (last_words.size() > 2 * kLastWords) {
        last_words.erase(0, last_words.size() - kLastWords);
      }
      static_cast<void>(!::write(STDERR_FILENO, buffer.data(), count));
    }
  }

  void kill() noexcept { ::syscall(SYS_pidfd_send_signal, launched.pidfd.get(), SIGKILL, nullptr, 0); }

  Launched launched;
  std::string last_words;  // the watcher's
  std::mutex mutex;
  ChildEvents* events;  // null: nobody wants to know any more
  Latch ended;
};

class OsProcessHost::Watcher {
 public:
  explicit Watcher(FileDescriptor wake) : wake_(std::move(wake)) {
    thread_ = start_thread("ferry-children", [this] { run(); });
  }
  ~Watcher() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    signal();
    thread_.join();
  }

  Result<std::shared_ptr<Watched>> start(const SpawnRequest& request, ChildEvents& events) {
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
    return order.child;
  }

 private:
  struct Order {
    const SpawnRequest& request;
    ChildEvents& events;
    Failure failure;
    std::shared_ptr<Watched> child;
    Latch done;
  };

  void signal() noexcept {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(wake_.get(), &one, sizeof(one)));
  }

  void run() {
    while (!stopped()) {
      std::vector<pollfd> waits{{wake_.get(), POLLIN, 0}};
      for (const auto& child : children_) {
        waits.push_back({child->launched.pidfd.get(), POLLIN, 0});
        waits.push_back({child->launched.stderr_pipe.get(), POLLIN, 0});
      }
      if (::poll(waits.data(), waits.size(), -1) < 0) {
        continue;  // interrupted
      }
      std::uint64_t count = 0;
      static_cast<void>(!::read(wake_.get(), &count, sizeof(count)));
      for (std::size_t index = 0; index < children_.size(); ++index) {
        Watched& child = *children_[index];
        if (waits[2 * index + 2].revents != 0 && !child.pass_on()) {
          child.launched.stderr_pipe.reset();  // closed by the child; it may live on
        }
        if (waits[2 * index + 1].revents != 0) {
          end(child);
        }
      }
      std::erase_if(children_, [](const auto& child) { return child->ended.is_set(); });
      serve();
    }
  }

  bool stopped() {
    const std::lock_guard lock(mutex_);
    return stop_;
  }

  void serve() {
    std::vector<Order*> orders;
    {
      const std::lock_guard lock(mutex_);
      orders.swap(orders_);
    }
    for (Order* order : orders) {
      auto launched = launch(order->request);
      if (launched) {
        order->child = std::make_shared<Watched>(std::move(*launched), order->events);
        children_.push_back(order->child);
      } else {
        order->failure = launched.error();
      }
      order->done.set();
    }
  }

  // Reaps the child and tells of its end.
  static void end(Watched& child) {
    siginfo_t info{};
    if (::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(child.launched.pidfd.get()), &info, WEXITED) != 0) {
      return;
    }
    if (child.launched.stderr_pipe) {
      child.pass_on();
    }
    ProcessExit exit;
    exit.how = info.si_code == CLD_EXITED ? ProcessExit::How::exited : ProcessExit::How::killed_by_signal;
    exit.value = info.si_status;
    const std::size_t kept = std::min(child.last_words.size(), kLastWords);
    exit.last_words = trimmed(child.last_words.substr(child.last_words.size() - kept));
    {
      const std::lock_guard lock(child.mutex);
      if (child.events != nullptr) {
        child.events->on_exit(exit);
      }
    }
    child.ended.set();
  }

  FileDescriptor wake_;
  std::mutex mutex_;
  std::vector<Order*> orders_;
  bool stop_ = false;
  std::vector<std::shared_ptr<Watched>> children_;  // the thread's
  std::thread thread_;
};

class OsProcessHost::Child final : public ChildProcess {
 public:
  Child(std::shared_ptr<Watcher> watcher, std::shared_ptr<Watched> watched) noexcept
      : watcher_(std::move(watcher)), watched_(std::move(watched)) {}
  ~Child() override {
    {
      const std::lock_guard lock(watched_->mutex);
      watched_->events = nullptr;
    }
    watched_->kill();
    watched_->ended.block();
  }

  std::int64_t pid() const noexcept override { return watched_->launched.pid; }
  void kill() noexcept override { watched_->kill(); }

 private:
  std::shared_ptr<Watcher> watcher_;  // watches until the last child is gone
  std::shared_ptr<Watched> watched_;
};

OsProcessHost::OsProcessHost(std::shared_ptr<Watcher> watcher) noexcept : watcher_(std::move(watcher)) {}

OsProcessHost::~OsProcessHost() = default;

Result<std::unique_ptr<OsProcessHost>> OsProcessHost::create() {
  FileDescriptor wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) {
    return system_failure(errno, "watching child processes");
  }
  return std::unique_ptr<OsProcessHost>(new OsProcessHost(std::make_shared<Watcher>(std::move(wake))));
}

Result<std::unique_ptr<ChildProcess>> OsProcessHost::start(const SpawnRequest& request, ChildEvents& events) {
  auto watched = watcher_->start(request, events);
  if (!watched) {
    return watched.error();
  }
  return std::unique_ptr<ChildProcess>(std::make_unique<Child>(watcher_, std::move(*watched)));
}

}  // namespace ferry::system
