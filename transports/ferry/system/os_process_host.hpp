// OsProcessHost: processes of the operating system, started and watched by one thread that lives as long as the host.
//
// No child survives this process, however it ends: the kernel kills a child when the thread that started it ends, and a
// ferry child ends itself when its death pipe closes. A child's stderr is passed on to this process's stderr, its last
// words are kept. Owner: the composer; destroyed after all ChildProcesses.
#pragma once

#include <memory>

#include <ferry/base/result.hpp>
#include <ferry/process/process_host.hpp>

namespace ferry::system {

class OsProcessHost final : public ProcessHost {
 public:
  static Result<std::unique_ptr<OsProcessHost>> create();
  ~OsProcessHost() override;

  Result<std::unique_ptr<ChildProcess>> start(const SpawnRequest& request, ChildEvents& events) override;

 private:
  class Watcher;
  class Child;
  struct Watched;

  explicit OsProcessHost(std::shared_ptr<Watcher> watcher) noexcept;

  std::shared_ptr<Watcher> watcher_;
};

}  // namespace ferry::system
