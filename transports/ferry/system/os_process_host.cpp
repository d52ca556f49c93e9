#include <ferry/system/os_process_host.hpp>

#include <sys/eventfd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include <ferry/system/child_watcher.hpp>
#include <ferry/system/system_error.hpp>

namespace ferry::system {
namespace {

class OsChildProcess final : public ChildProcess {
 public:
  OsChildProcess(std::shared_ptr<ChildWatcher> watcher, std::shared_ptr<WatchedChild> child) noexcept
      : watcher_(std::move(watcher)), child_(std::move(child)) {}
  ~OsChildProcess() override { watcher_->end(*child_); }

  std::int64_t pid() const noexcept override { return child_->pid(); }
  void kill() noexcept override { child_->kill(); }

 private:
  const std::shared_ptr<ChildWatcher> watcher_;
  const std::shared_ptr<WatchedChild> child_;
};

}  // namespace

OsProcessHost::OsProcessHost(std::shared_ptr<ChildWatcher> watcher) noexcept : watcher_(std::move(watcher)) {}
OsProcessHost::~OsProcessHost() = default;

Result<std::unique_ptr<OsProcessHost>> OsProcessHost::create() {
  FileDescriptor wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) {
    return system_failure(errno, "watching child processes");
  }
  try {
    return std::unique_ptr<OsProcessHost>(new OsProcessHost(std::make_shared<ChildWatcher>(std::move(wake))));
  } catch (const std::system_error& error) {
    return system_failure(error.code().value(), "starting the thread that watches child processes");
  }
}

Result<std::unique_ptr<ChildProcess>> OsProcessHost::start(const SpawnRequest& request, ChildEvents& events) {
  auto child = watcher_->start(request, events);
  if (!child) {
    return child.error();
  }
  return std::unique_ptr<ChildProcess>(std::make_unique<OsChildProcess>(watcher_, std::move(*child)));
}

}  // namespace ferry::system
