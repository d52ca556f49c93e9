#include "process_fixtures.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ferry/system/inherited_bootstrap.hpp>

#include "orphans.hpp"

namespace ferry::system {
namespace {

// "0 1 2 pipe": the standard three by number, others by what they are.
std::string describe_descriptors() {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const std::string target = std::filesystem::read_symlink(entry.path(), error);
    const int number = std::stoi(entry.path().filename());
    if (target.find("/proc/") == 0) {
      continue;  // the directory being read
    }
    found.push_back(number <= STDERR_FILENO ? std::to_string(number) : target.substr(0, target.find(':')));
  }
  std::sort(found.begin(), found.end());
  return fmt::format("{}", fmt::join(found, " "));
}

int say_what_was_found(const Bootstrap& bootstrap) {
  const auto again = inherited_bootstrap();
  sigset_t blocked;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  int count = 0;
  for (int signal = 1; signal < NSIG; ++signal) {
    count += ::sigismember(&blocked, signal) == 1 ? 1 : 0;
  }
  fmt::print(stderr,
             "child: {}, self: {}/{}, transports: {}, secret: {:x}, variable: {}, second time: {}, descriptors: {}, "
             "signals blocked: {}\n",
             is_child() ? "yes" : "no", bootstrap.self.id, bootstrap.self.incarnation, bootstrap.transports,
             std::to_integer<int>(bootstrap.secret[31]), std::getenv(kBootstrapVariable) == nullptr ? "unset" : "set",
             again.has_value() && !again->has_value() ? "nothing" : "something", describe_descriptors(), count);
  return 0;
}

FileDescriptor replace_stderr(int with) {
  FileDescriptor before(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
  ::dup2(with, STDERR_FILENO);
  return before;
}

}  // namespace

std::unique_ptr<OsProcessHost> make_host() {
  auto host = OsProcessHost::create();
  EXPECT_TRUE(host.has_value());
  return std::move(*host);
}

void Ended::on_exit(const ProcessExit& exit) noexcept {
  EXPECT_FALSE(latch_.is_set());
  exit_ = exit;
  latch_.set();
}

const ProcessExit& Ended::wait() const {
  latch_.block();
  return exit_;
}

SpawnRequest child_that(const std::string& what) {
  SpawnRequest request;
  request.bootstrap.name = what;
  return request;
}

SpawnRequest shell(const std::string& script) {
  SpawnRequest request;
  request.program = "/bin/sh";
  request.arguments = {"-c", script};
  return request;
}

std::unique_ptr<ChildProcess> start(OsProcessHost& host, const SpawnRequest& request, ChildEvents& events) {
  auto child = host.start(request, events);
  return std::move(child.value());  // throws
}

int run_child() {
  auto bootstrap = inherited_bootstrap();
  if (!bootstrap.has_value() || !bootstrap->has_value()) {
    return 90;
  }
  const std::string& what = (*bootstrap)->name;
  if (what == "says what it found") {
    return say_what_was_found(**bootstrap);
  }
  if (what == kStays) {
    return stay(**bootstrap);
  }
  return 91;
}

std::filesystem::path make_directory() {
  std::string name = std::filesystem::temp_directory_path() / "ferry-system-XXXXXX";
  EXPECT_NE(::mkdtemp(name.data()), nullptr);
  return name;
}

std::size_t count_descriptors() {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

StderrToFile::StderrToFile() : file_(::memfd_create("stderr", MFD_CLOEXEC)) {
  before_ = replace_stderr(file_.get());
}

StderrToFile::~StderrToFile() {
  ::dup2(before_.get(), STDERR_FILENO);
}

std::string StderrToFile::text() const {
  std::string all(static_cast<std::size_t>(::lseek(file_.get(), 0, SEEK_END)), '\0');
  EXPECT_EQ(::pread(file_.get(), all.data(), all.size(), 0), static_cast<ssize_t>(all.size()));
  return all;
}

StderrToPipe::StderrToPipe() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  read_ = FileDescriptor(ends[0]);
  const FileDescriptor write(ends[1]);
  before_ = replace_stderr(write.get());
}

StderrToPipe::~StderrToPipe() {
  ::dup2(before_.get(), STDERR_FILENO);
}

void StderrToPipe::fill() {
  const int flags = ::fcntl(STDERR_FILENO, F_GETFL);
  ::fcntl(STDERR_FILENO, F_SETFL, flags | O_NONBLOCK);
  std::array<char, 4096> block{};
  while (::write(STDERR_FILENO, block.data(), block.size()) > 0) {
  }
  ::fcntl(STDERR_FILENO, F_SETFL, flags);
}

std::string StderrToPipe::read_some() {
  std::string text(4096, '\0');
  const ssize_t count = ::read(read_.get(), text.data(), text.size());
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return text;
}

std::size_t StderrToPipe::drain_until(const std::function<bool()>& condition) {
  std::size_t total = 0;
  while (!condition()) {
    pollfd ready{read_.get(), POLLIN, 0};
    if (::poll(&ready, 1, 1) == 1) {
      total += read_some().size();
    }
  }
  return total;
}

}  // namespace ferry::system
