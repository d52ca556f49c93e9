// OsProcessHost: processes of the operating system, started and watched by one thread that lives as long as the host.
//
// No child survives this process, however it ends: the kernel kills a child when the thread that started it ends, and
// a ferry child ends itself when its death pipe closes; so do the children's own children in their turn. A child's
// stderr is passed on to this process's stderr in whole lines, its last words are kept. Working directory and
// environment are inherited, descriptors beyond the standard three are not.
// Owner: the composer; destroyed after all ChildProcesses. Any thread; on_exit is called on the host's own.
#pragma once

#include <memory>

#include <ferry/base/result.hpp>
#include <ferry/process/process_host.hpp>

namespace ferry::system {

class ChildWatcher;

class OsProcessHost final : public ProcessHost {
 public:
  // Children begin with the signal mask of the thread that calls this. resource_exhausted: no descriptor or thread.
  static Result<std::unique_ptr<OsProcessHost>> create();
  ~OsProcessHost() override;

  // Blocks while the program is loaded. Not from inside on_exit. A handle may be destroyed there.
  Result<std::unique_ptr<ChildProcess>> start(const SpawnRequest& request, ChildEvents& events) override;

 private:
  explicit OsProcessHost(std::shared_ptr<ChildWatcher> watcher) noexcept;

  const std::shared_ptr<ChildWatcher> watcher_;
};

}  // namespace ferry::system
