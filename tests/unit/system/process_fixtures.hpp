// What the tests of the process host share: children by name, waiting for their end, and a stderr to look at.
//
// Owner: each test its own objects. StderrToFile and StderrToPipe change the stderr of the whole process while they
// live.
#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include <ferry/base/executor.hpp>
#include <ferry/process/process_host.hpp>
#include <ferry/system/os_process_host.hpp>
#include <ferry/system/stderr_relay.hpp>

namespace ferry::system {

std::unique_ptr<OsProcessHost> make_host();

// Notes the end of one child.
class Ended final : public ChildEvents {
 public:
  void on_exit(const ProcessExit& exit) noexcept override;
  const ProcessExit& wait() const;
  bool has_ended() const noexcept { return latch_.is_set(); }

 private:
  ProcessExit exit_;
  Latch latch_;
};

// This program again, doing what run_child() knows by that name; or a shell.
SpawnRequest child_that(const std::string& what);
SpawnRequest shell(const std::string& script);

// Starts it; a failure fails the test.
std::unique_ptr<ChildProcess> start(OsProcessHost& host, const SpawnRequest& request, ChildEvents& events);

// main() of this program where is_child().
int run_child();

std::filesystem::path make_directory();
std::size_t count_descriptors();

class StderrToFile {
 public:
  StderrToFile();
  ~StderrToFile();
  std::string text() const;

 private:
  FileDescriptor before_;
  FileDescriptor file_;
};

class StderrToPipe {
 public:
  StderrToPipe();
  ~StderrToPipe();

  // Writes until the pipe takes no more.
  void fill();
  // Blocks until there is something.
  std::string read_some();
  // Reads until the condition holds; bytes read.
  std::size_t drain_until(const std::function<bool()>& condition);

 private:
  FileDescriptor before_;
  FileDescriptor read_;
};

}  // namespace ferry::system
