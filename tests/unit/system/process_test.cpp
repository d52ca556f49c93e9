// This binary is also the child and the root of its tests: what a child does is named by its bootstrap.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ferry/system/inherited_bootstrap.hpp>
#include <ferry/system/os_process_host.hpp>
#include <ferry/system/random_bytes.hpp>

#include "orphans.hpp"
#include "process_fixtures.hpp"

namespace ferry::system {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(OsProcessHost, GivesTheChildItsBootstrapAndNothingElse) {
  auto host = make_host();
  Ended ended;
  SpawnRequest request = child_that("says what it found");
  request.bootstrap.secret.fill(std::byte{0x5a});
  request.bootstrap.self = {42, 43};
  request.bootstrap.transports = "tcp";
  auto child = start(*host, request, ended);
  EXPECT_GT(child->pid(), 0);
  const ProcessExit& exit = ended.wait();
  EXPECT_EQ(exit.to_text(),
            "exited with status 0; it wrote: child: yes, self: 42/43, transports: tcp, secret: 5a, variable: unset, "
            "second time: nothing, descriptors: 0 1 2 pipe, signals blocked: 0");
}

TEST(OsProcessHost, ThisProcessIsNoChild) {
  EXPECT_FALSE(is_child());
  auto bootstrap = inherited_bootstrap();
  ASSERT_TRUE(bootstrap.has_value());
  EXPECT_FALSE(bootstrap->has_value());
}

TEST(OsProcessHost, TheSecretIsNeitherInArgumentsNorInTheEnvironment) {
  auto host = make_host();
  Ended ended;
  SpawnRequest request;
  request.program = "/bin/sh";
  request.arguments = {"-c", "env | grep FERRY_BOOT >&2; tr '\\0' ' ' < /proc/$$/cmdline >&2"};
  request.bootstrap.secret.fill(std::byte{0x5a});
  auto child = start(*host, request, ended);
  const std::string words = ended.wait().last_words;
  EXPECT_THAT(words, testing::MatchesRegex("FERRY_BOOTSTRAP_FDS=[0-9]+,[0-9]+\n/bin/sh -c env .*"));
  EXPECT_THAT(words, Not(HasSubstr("ZZ")));  // 0x5a is Z
}

TEST(OsProcessHost, RefusesABootstrapThatIsNotOurs) {
  const int sealed = ::memfd_create("other", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(::write(sealed, "garbage", 7), 7);
  ASSERT_EQ(::fcntl(sealed, F_ADD_SEALS, kBootstrapSeals), 0);
  const int open = ::memfd_create("open", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "two descriptors"},
      {"nonsense", "two descriptors"},
      {"3", "two descriptors"},
      {"1,2,3", "two descriptors"},
      {"-1,-1", "two descriptors"},
      {"1,2", "first descriptor is not the sealed file"},
      {"99999,2", "first descriptor is not the sealed file"},
      {std::to_string(open) + "," + std::to_string(pipe[0]), "first descriptor is not the sealed file"},
      {std::to_string(sealed) + "," + std::to_string(open), "second descriptor is not the pipe"},
      {std::to_string(sealed) + "," + std::to_string(pipe[0]), ""},
  };
  for (const auto& [variable, text] : cases) {
    ASSERT_EQ(::setenv(kBootstrapVariable, variable.c_str(), 1), 0);
    auto bootstrap = inherited_bootstrap();
    ASSERT_FALSE(bootstrap.has_value()) << variable;
    EXPECT_EQ(bootstrap.error().code(), errc::malformed) << variable;
    EXPECT_THAT(bootstrap.error().to_text(), HasSubstr(text)) << variable;
  }
  ::unsetenv(kBootstrapVariable);
  // Nothing that was not ours has been closed.
  for (const int descriptor : {0, 1, 2, sealed, open, pipe[0], pipe[1]}) {
    EXPECT_GE(::fcntl(descriptor, F_GETFD), 0) << descriptor;
  }
  for (const int descriptor : {sealed, open, pipe[0], pipe[1]}) {
    ::close(descriptor);
  }
}

TEST(OsProcessHost, EachWayOfFailingHasItsOwnText) {
  const auto directory = make_directory();
  const std::string not_executable = directory / "data";
  const std::string no_program = directory / "text";
  std::ofstream(not_executable) << "data\n";
  std::ofstream(no_program) << "neither a program nor a script\n";
  ASSERT_EQ(::chmod(no_program.c_str(), 0755), 0);

  auto host = make_host();
  Ended unused;
  const std::map<std::string, std::string> failures{
      {directory / "missing", "/missing cannot be run: No such file or directory (ENOENT); check the path"},
      {"missing", "missing (in " + std::filesystem::current_path().string() + ") cannot be run: No such file"},
      {not_executable, "/data cannot be run: Permission denied (EACCES); is it a file that may be executed?"},
      {no_program, "/text cannot be run: Exec format error (ENOEXEC); it is neither a program"},
      {directory, " cannot be run: Permission denied (EACCES)"},
  };
  for (const auto& [program, text] : failures) {
    SpawnRequest request;
    request.program = program;
    auto child = host->start(request, unused);
    ASSERT_FALSE(child.has_value()) << program;
    EXPECT_EQ(child.error().code(), errc::spawn_failed);
    EXPECT_THAT(child.error().to_text(), HasSubstr(text));
  }
  EXPECT_FALSE(unused.has_ended());

  const std::map<std::string, std::string> endings{
      {"echo out of cheese >&2; exit 3", "exited with status 3; it wrote: out of cheese"},
      {"exit 3", "exited with status 3 and wrote nothing to stderr"},
      {"kill -9 $$", "was killed by signal 9 (Killed) and wrote nothing to stderr"},
      {"printf partial >&2; kill -TERM $$", "was killed by signal 15 (Terminated); it wrote: partial"},
  };
  for (const auto& [script, text] : endings) {
    Ended ended;
    auto child = start(*host, shell(script), ended);
    EXPECT_EQ(ended.wait().to_text(), text);
  }
  std::filesystem::remove_all(directory);
}

// One descriptor more each time: what is opened last is this process's own list of arguments.
TEST(OsProcessHost, AChildWithoutItsArgumentsIsRefusedLikeAnyOtherLack) {
  auto host = make_host();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  std::vector<std::string> refusals;
  Ended ended;
  for (rlim_t allowed = 0;; ++allowed) {
    ASSERT_LT(allowed, 20U);
    const int next = ::dup(0);
    ::close(next);
    const rlimit tight{static_cast<rlim_t>(next) + allowed, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
    auto child = host->start(child_that("says what it found"), ended);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    if (child) {
      EXPECT_THAT(ended.wait().to_text(), HasSubstr("child: yes"));
      break;
    }
    refusals.push_back(child.error().to_text());
  }
  constexpr const char* kNoArguments =
      "spawn_failed: this process's own arguments, which the child shall have, cannot be read from "
      "/proc/self/cmdline; too few descriptors (ulimit -n) are a reason";
  EXPECT_EQ(std::count(refusals.begin(), refusals.end(), kNoArguments), 1);
  for (const std::string& refusal : refusals) {
    EXPECT_THAT(refusal, testing::AnyOf(kNoArguments, HasSubstr("Too many open files (EMFILE)")));
  }
}

TEST(OsProcessHost, LeavesNeitherZombiesNorDescriptors) {
  auto host = make_host();
  const auto spawn_many = [&] {
    for (int round = 0; round < 20; ++round) {
      Ended ended;
      auto child = start(*host, shell("exit 0"), ended);
      ended.wait();
      Ended unused;
      auto killed = start(*host, shell("exec sleep 1000"), unused);
      killed.reset();
      SpawnRequest missing;
      missing.program = "/missing";
      EXPECT_FALSE(host->start(missing, unused).has_value());
    }
  };
  spawn_many();
  const std::size_t before = count_descriptors();
  spawn_many();
  EXPECT_EQ(count_descriptors(), before);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  host.reset();
  EXPECT_LT(count_descriptors(), before);
}

TEST(OsProcessHost, DroppingAHandleKillsTheProcessAndTellsNobody) {
  auto host = make_host();
  for (int round = 0; round < 30; ++round) {
    Ended ended;
    auto child = start(*host, shell(round % 2 == 0 ? "exec sleep 1000" : "exit 0"), ended);
    const auto pid = static_cast<pid_t>(child->pid());
    child.reset();
    EXPECT_EQ(::kill(pid, 0), -1);
    const bool told = ended.has_ended();
    EXPECT_TRUE(!told || round % 2 == 1);
  }
}

TEST(OsProcessHost, KillEndsAProcessThatIgnoresSignals) {
  auto host = make_host();
  Ended ended;
  auto child = start(*host, shell("trap '' TERM INT HUP; exec sleep 1000"), ended);
  child->kill();
  EXPECT_EQ(ended.wait().value, SIGKILL);
  child->kill();  // nothing any more
}

TEST(OsProcessHost, AHandleMayBeDroppedInsideOnExitAndSoMayOthers) {
  class Dropper final : public ChildEvents {
   public:
    void on_exit(const ProcessExit&) noexcept override {
      ready.block();
      own.reset();
      other.reset();
      done.set();
    }
    std::unique_ptr<ChildProcess> own;
    std::unique_ptr<ChildProcess> other;
    Latch ready;
    Latch done;
  };
  auto host = make_host();
  for (int round = 0; round < 10; ++round) {
    Dropper dropper;
    Ended unused;
    dropper.other = start(*host, shell("exec sleep 1000"), unused);
    dropper.own = start(*host, shell("exit 0"), dropper);
    dropper.ready.set();
    dropper.done.block();
    EXPECT_FALSE(unused.has_ended());
  }
}

// The user's program waits for children of its own in a way that takes ours too.
TEST(OsProcessHost, AnExitStatusTakenBySomebodyElseIsAnEndAllTheSame) {
  auto host = make_host();
  struct sigaction ignore {};
  struct sigaction before {};
  ignore.sa_handler = SIG_IGN;
  ASSERT_EQ(::sigaction(SIGCHLD, &ignore, &before), 0);
  Ended ended;
  auto child = start(*host, shell("echo last words >&2; exit 3"), ended);
  const ProcessExit& exit = ended.wait();
  EXPECT_EQ(exit.how, ProcessExit::How::unknown);
  EXPECT_EQ(exit.last_words, "last words");
  ASSERT_EQ(::sigaction(SIGCHLD, &before, nullptr), 0);
}

TEST(OsProcessHost, KeepsTheEndOfWhatAChildWroteAndPassesItAllOn) {
  auto host = make_host();
  std::string all;
  {
    StderrToFile to_file;
    Ended ended;
    auto child = start(*host, shell("i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done >&2"), ended);
    const std::string words = ended.wait().last_words;
    EXPECT_EQ(words.size(), StderrRelay::kLastWords);
    EXPECT_TRUE(words.ends_with("line 2998\nline 2999"));
    host.reset();
    child.reset();
    all = to_file.text();
  }
  std::string expected;
  for (int i = 0; i < 3000; ++i) {
    expected += "line " + std::to_string(i) + "\n";
  }
  EXPECT_EQ(all, expected);
}

TEST(OsProcessHost, LinesOfSeveralChildrenAreNotTorn) {
  auto host = make_host();
  std::string all;
  {
    StderrToFile to_file;
    std::vector<Ended> ended(3);
    std::vector<std::unique_ptr<ChildProcess>> children;
    for (std::size_t i = 0; i < ended.size(); ++i) {
      const std::string letter(1, static_cast<char>('a' + i));
      // In pieces, so that a relay without lines would mix them.
      children.push_back(start(*host,
                               shell("n=0; while [ $n -lt 300 ]; do for p in 1 2 3 4 5; do printf " + letter +
                                     " >&2; done; echo >&2; n=$((n+1)); done; printf " + letter + "end >&2"),
                               ended[i]));
    }
    for (Ended& one : ended) {
      one.wait();
    }
    children.clear();
    host.reset();
    all = to_file.text();
  }
  std::map<std::string, int> lines;
  std::istringstream in(all);
  for (std::string line; std::getline(in, line);) {
    ++lines[line];
  }
  EXPECT_EQ(lines, (std::map<std::string, int>{
                       {"aaaaa", 300}, {"bbbbb", 300}, {"ccccc", 300}, {"aend", 1}, {"bend", 1}, {"cend", 1}}));
}

TEST(OsProcessHost, AStderrThatNobodyReadsHoldsUpNeitherStartsNorEnds) {
  auto host = make_host();
  StderrToPipe full;
  full.fill();
  Ended talkative_ended;
  auto talkative =
      start(*host, shell("i=0; while [ $i -lt 60000 ]; do echo 0123456789; i=$((i+1)); done >&2"), talkative_ended);
  for (int round = 0; round < 5; ++round) {
    Ended ended;
    auto child = start(*host, shell("echo quick >&2; exit 7"), ended);
    EXPECT_EQ(ended.wait().to_text(), "exited with status 7; it wrote: quick");
  }
  EXPECT_FALSE(talkative_ended.has_ended());  // 660 KB wait for a reader
  const std::size_t read = full.drain_until([&] { return talkative_ended.has_ended(); });
  EXPECT_EQ(talkative_ended.wait().value, 0);
  EXPECT_GT(read, 0U);
}

TEST(OsProcessHost, AnUnfinishedLineIsPassedOnBeforeItEnds) {
  auto host = make_host();
  StderrToPipe pipe;
  Ended ended;
  auto child = start(*host, shell("printf 'really? ' >&2; exec sleep 1000"), ended);
  EXPECT_EQ(pipe.read_some(), "really? ");
}

TEST(OsProcessHost, RandomBytesDiffer) {
  std::array<std::byte, 32> a{};
  std::array<std::byte, 32> b{};
  random_bytes(a);
  random_bytes(b);
  EXPECT_NE(a, b);
  EXPECT_NE(a, decltype(a){});
}

}  // namespace
}  // namespace ferry::system

int main(int argc, char** argv) {
  if (ferry::system::is_child()) {
    return ferry::system::run_child();
  }
  if (argc > 1 && std::string_view(argv[1]) == ferry::system::kRootArgument) {
    return ferry::system::run_root(argc, argv);
  }
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
