#include "orphans.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ferry/system/os_process_host.hpp>

namespace ferry::system {
namespace {

constexpr const char* kForeign = "foreign";
constexpr const char* kWithoutSignal = "without signal";

// One write, so that lines of several processes do not mix.
void say(const std::string& line) {
  static_cast<void>(!::write(STDOUT_FILENO, line.data(), line.size()));
}

void say_that_it_runs() {
  say(fmt::format("{} {}\n", ::getpid(), ::getppid()));
}

class Nobody final : public ChildEvents {
 public:
  void on_exit(const ProcessExit&) noexcept override {}
};

[[noreturn]] void stay_with(unsigned children, unsigned grandchildren, const std::string& kind) {
  Nobody nobody;
  auto host = OsProcessHost::create();
  std::vector<std::unique_ptr<ChildProcess>> handles;
  for (unsigned i = 0; i < children; ++i) {
    SpawnRequest request;
    if (kind == kForeign) {
      request.program = "/bin/sh";
      request.arguments = {"-c", "echo $$ $PPID; exec sleep 1000"};
    }
    request.bootstrap.name = kStays;
    request.bootstrap.self = {1, grandchildren};
    request.bootstrap.transports = kind;
    auto child = (*host)->start(request, nobody);
    if (!child) {
      std::_Exit(92);
    }
    handles.push_back(std::move(*child));
  }
  for (;;) {
    ::pause();
  }
}

}  // namespace

int stay(const Bootstrap& bootstrap) {
  if (bootstrap.transports == kWithoutSignal) {
    ::prctl(PR_SET_PDEATHSIG, 0);
  }
  say_that_it_runs();
  stay_with(static_cast<unsigned>(bootstrap.self.incarnation), 0, bootstrap.transports);
}

int run_root(int argc, char** argv) {
  if (argc != 5) {
    return 93;
  }
  say("go\n");
  stay_with(static_cast<unsigned>(std::stoul(argv[2])), static_cast<unsigned>(std::stoul(argv[3])), argv[4]);
}

Tree::Tree(const TreeShape& shape) {
  EXPECT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  pipe_ = FileDescriptor(ends[0]);
  const FileDescriptor write(ends[1]);
  std::vector<std::string> arguments{"root", kRootArgument, std::to_string(shape.children),
                                     std::to_string(shape.grandchildren), shape.kind};
  std::vector<char*> argv;
  for (std::string& argument : arguments) {
    argv.push_back(argument.data());
  }
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, write.get(), STDOUT_FILENO);
  EXPECT_EQ(::posix_spawn(&root_, "/proc/self/exe", &actions, nullptr, argv.data(), environ), 0);
  ::posix_spawn_file_actions_destroy(&actions);
  // The pipe ends with the tree only if this process does not hold it open.
}

Tree::~Tree() {
  kill_root();
  wait_until_gone();
}

// Empty: the pipe has ended.
std::string Tree::next_line() {
  for (;;) {
    if (const std::size_t end = text_.find('\n'); end != std::string::npos) {
      std::string line = text_.substr(0, end);
      text_.erase(0, end + 1);
      return line;
    }
    std::array<char, 512> buffer{};
    const ssize_t count = ::read(pipe_.get(), buffer.data(), buffer.size());
    if (count == 0) {
      return {};
    }
    text_.append(buffer.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
  }
}

void Tree::wait_for_go() {
  EXPECT_EQ(next_line(), "go");
}

std::vector<Member> Tree::wait_for(std::size_t count) {
  std::vector<Member> members(count);
  for (Member& member : members) {
    const std::string line = next_line();
    if (!(std::istringstream(line) >> member.pid >> member.parent)) {
      ADD_FAILURE() << "a process of the tree did not start: " << line;
      break;
    }
  }
  return members;
}

void Tree::kill_root() noexcept {
  if (root_ > 0) {
    ::kill(root_, SIGKILL);
  }
}

int Tree::wait_until_gone() {
  while (!next_line().empty()) {
  }
  int otherwise = 0;
  int status = 0;
  pid_t pid = 0;
  while ((pid = ::waitpid(-1, &status, 0)) > 0 || errno == EINTR) {
    const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    const bool saw_no_parent = WIFEXITED(status) && WEXITSTATUS(status) == 127;  // before it became a program
    otherwise += pid > 0 && !killed && !saw_no_parent ? 1 : 0;
  }
  root_ = -1;
  return otherwise;
}

}  // namespace ferry::system
