// ProcessHost: starts, watches and stops processes on this host. `system` uses the operating system; in the simulator
// a process is an island in the same OS process.
//
// Guarantee: no process started here survives this one, however it ends (decision 11).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ferry/base/result.hpp>
#include <ferry/process/bootstrap.hpp>

namespace ferry {

struct SpawnRequest {
  std::string program;                 // path; empty: this executable again, with this process's arguments
  std::vector<std::string> arguments;  // for another program
  Bootstrap bootstrap{};
};

// How a process ended.
struct ProcessExit {
  // unknown: the system gave its status to somebody else, or to nobody.
  enum class How : unsigned char { exited, killed_by_signal, unknown };
  How how = How::exited;
  int value = 0;           // exit status or signal number
  std::string last_words;  // the end of what it wrote to stderr, at most a few KiB

  // "exited with status 3; it wrote: …", "was killed by signal 9 (Killed)".
  std::string to_text() const;
};

class ChildEvents {
 public:
  // Once, after the process has ended and was reaped; any thread; must not block.
  virtual void on_exit(const ProcessExit& exit) noexcept = 0;

 protected:
  ~ChildEvents() = default;
};

class ChildProcess {
 public:
  // Kills the process if it still runs and waits until it is gone and reaped; on_exit is not called afterwards.
  virtual ~ChildProcess() = default;

  virtual std::int64_t pid() const noexcept = 0;  // of the operating system; the simulator numbers its own
  virtual void kill() noexcept = 0;               // at once and without appeal; on_exit follows
};

class ProcessHost {
 public:
  virtual ~ProcessHost() = default;

  // Starts a process and returns as soon as the program runs (about a millisecond; call it through offload).
  // spawn_failed with what was run and why: no such file, not executable, …
  virtual Result<std::unique_ptr<ChildProcess>> start(const SpawnRequest& request, ChildEvents& events) = 0;
};

}  // namespace ferry
