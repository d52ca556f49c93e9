// No process of a job outlives its root, however that ends.
#include <csignal>
#include <cstdio>
#include <sstream>

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <fmt/format.h>

#include "process_actors.hpp"
#include "process_roles.hpp"

namespace ferry::conformance {

int be_root(std::string_view transports) {
  NodeOptions options;
  options.transports = transports;
  return run(options, kProcessActors, [](Context& context) -> Task<int> {
    auto starting = start_residents(context, 3, 100'000);
    const Residents residents = co_await starting;
    std::string line;
    for (const std::int64_t pid : residents.pids) {
      line += fmt::format("{} ", pid);
    }
    // They are busy with each other's memory when the end comes.
    auto first = start(residents.actors[0].call<&Resident::hammer>(residents.memories[1]));
    auto second = start(residents.actors[1].call<&Resident::hammer>(residents.memories[2]));
    fmt::print("{}\n", line);
    std::fflush(stdout);
    auto never = residents.actors[2].call<&Resident::never_ends>();
    co_await never;
    co_return 0;
  });
}

namespace {

class Orphan : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Over, Orphan, testing::Values("tcp", "shm"),
                         [](const auto& parameter) { return std::string(parameter.param); });

// Waits for the end of a process that is not a child; a watchdog, not a measurement.
bool ends(int pidfd) {
  pollfd ready{pidfd, POLLIN, 0};
  return ::poll(&ready, 1, 60'000) == 1;
}

TEST_P(Orphan, EveryProcessOfAJobEndsWhenItsRootIsKilled) {
  int pipe[2];
  ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  const pid_t root = ::fork();
  ASSERT_GE(root, 0);
  if (root == 0) {
    ::dup2(pipe[1], STDOUT_FILENO);
    ::execl("/proc/self/exe", "conformance_process_test", std::string(kRootRole).c_str(), GetParam(), nullptr);
    ::_exit(127);
  }
  ::close(pipe[1]);
  std::string line;
  for (char character = 0; ::read(pipe[0], &character, 1) == 1 && character != '\n';) {
    line += character;
  }
  std::istringstream words(line);
  std::vector<int> pidfds;
  for (pid_t pid = 0; words >> pid;) {
    const auto pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
    EXPECT_GE(pidfd, 0) << pid;
    pidfds.push_back(pidfd);
  }
  EXPECT_EQ(pidfds.size(), 3U) << line;
  ::kill(root, SIGKILL);
  int status = 0;
  ::waitpid(root, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  for (const int pidfd : pidfds) {
    if (!ends(pidfd)) {
      ADD_FAILURE() << "a process outlived its root";
      ::syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, nullptr, 0);
    }
    ::close(pidfd);
  }
  ::close(pipe[0]);
}

}  // namespace
}  // namespace ferry::conformance
