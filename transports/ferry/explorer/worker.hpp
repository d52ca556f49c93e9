// Worker: a process forked from this one that does what a function says, and tells of it in frames.
//
// It ends with this process, and with the Worker. WorkerSide: its end. Owner: WorkerProcesses. One thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include <ferry/base/result.hpp>
#include <ferry/base/time.hpp>
#include <ferry/system/file_descriptor.hpp>

namespace ferry::explorer {

// What it is at, in memory that both processes see.
struct Pulse {
  std::atomic<std::uint64_t> number{0};
  std::atomic<std::int64_t> since{0};  // nanoseconds of the monotonic clock; 0: idle
};

// Nanoseconds of the monotonic clock.
std::int64_t monotonic_now() noexcept;

struct Frame {
  char kind = 0;
  std::string bytes;
};

class WorkerSide {
 public:
  WorkerSide(int socket, Pulse& pulse) noexcept : socket_(socket), pulse_(pulse) {}

  // The next request, or none: this process shall end.
  std::optional<std::string> next();
  void send(char kind, std::string_view bytes);
  void begin(std::uint64_t number) noexcept;
  void idle() noexcept { pulse_.since.store(0, std::memory_order_relaxed); }

 private:
  const int socket_;
  Pulse& pulse_;
};

class Worker {
 public:
  using Body = std::function<void(WorkerSide&)>;

  // Forks. An exception that leaves the body is sent as a frame of kind 'e'.
  static Result<std::unique_ptr<Worker>> start(const Body& body);
  // Kills it if it lives.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void request(std::string_view bytes);

  // Readable when there are frames, or it has ended.
  int descriptor() const noexcept { return socket_.get(); }
  // Reads what is there; false: it has ended.
  bool read();
  std::optional<Frame> take();

  // Whether it is at something, as far as it has told.
  bool is_busy() const noexcept { return pulse_->since.load(std::memory_order_relaxed) != 0; }
  const Pulse& pulse() const noexcept { return *pulse_; }
  void kill() noexcept;
  // Of one that has ended: "was killed by signal 6 (Aborted); it wrote: …".
  std::string how_ended();
  // What it has written to stderr since the last call; only while it is idle.
  std::string take_stderr();

 private:
  Worker() = default;
  void reap() noexcept;

  pid_t pid_ = -1;
  int status_ = 0;
  system::FileDescriptor socket_;
  system::FileDescriptor stderr_;
  Pulse* pulse_ = nullptr;
  std::string received_;
};

}  // namespace ferry::explorer
