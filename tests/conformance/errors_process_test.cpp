// Errors of nodes and processes of the operating system, by the condition itself, with their texts.
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "process_actors.hpp"

namespace ferry::conformance {
namespace {

using testing::MatchesRegex;

NodeOptions options_for(std::string_view transports) {
  NodeOptions options;
  options.transports = transports;
  return options;
}

// The text with which a node is refused, or nothing.
std::string refusal_of(const NodeOptions& options) {
  try {
    const Node node(options, kProcessActors);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

template <class A>
Task<std::string> text_of(A awaitable) {
  auto outcome = as_result(std::move(awaitable));
  const auto result = co_await outcome;
  co_return result ? std::string() : result.error().to_text();
}

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "ferry-errors-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  // A file with that content and mode.
  std::string file(std::string_view name, std::string_view content, ::mode_t mode) const {
    const std::string path = path_ / name;
    std::ofstream(path) << content;
    ::chmod(path.c_str(), mode);
    return path;
  }

 private:
  std::filesystem::path path_;
};

Task<std::string> spawn_text(Context context, std::string program, std::vector<std::string> arguments,
                             std::optional<Duration> timeout) {
  SpawnOptions options;
  options.program = program;
  options.arguments = arguments;
  options.timeout = timeout;
  auto starting = text_of(context.this_host().spawn_procs(Shape(Dimension("procs", 1)), options));
  co_return co_await starting;
}

Task<std::uint64_t> echo(ActorRef<Resident> actor, std::uint64_t value) {
  const std::uint64_t same = co_await actor.call<&Resident::echo>(value);
  co_return same;
}

Task<std::string> read_text(BufferRef memory) {
  std::vector<std::byte> local(memory.size());
  auto reading = text_of(memory.read_into(std::span(local)));
  co_return co_await reading;
}

class ProcessErrors : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Over, ProcessErrors, testing::Values("tcp", "shm"),
                         [](const auto& parameter) { return std::string(parameter.param); });

TEST_P(ProcessErrors, EachWayOfFailingToStartHasItsOwnTextAndNothingElseIsLost) {
  const Folder folder;
  Node node(options_for(GetParam()), kProcessActors);
  const std::string data = folder.file("data", "data\n", 0644);
  const std::string garbage = folder.file("garbage", "neither a program nor a script\n", 0755);
  auto residents = node.block_on(start_residents(node.context(), 1, 64));
  const auto spawn = [&](const std::string& program, const std::vector<std::string>& arguments = {},
                         std::optional<Duration> timeout = {}) {
    return node.block_on(spawn_text(node.context(), program, arguments, timeout));
  };
  const std::string failed = "spawn_procs at root/procs=0: spawn_failed: ";
  EXPECT_EQ(spawn("/missing/program"),
            failed +
                "/missing/program cannot be run: No such file or directory (ENOENT); check the path, and the "
                "interpreter if it is a script (PATH is not searched)");
  EXPECT_EQ(spawn(data), failed + data +
                             " cannot be run: Permission denied (EACCES); is it a file that may be "
                             "executed? (chmod +x)");
  EXPECT_EQ(spawn(garbage), failed + garbage +
                                " cannot be run: Exec format error (ENOEXEC); it is neither a program "
                                "for this machine nor a script that begins with #!");
  EXPECT_EQ(spawn("/bin/sh", {"-c", "echo out of cheese >&2; exit 3"}),
            failed + "/bin/sh exited with status 3; it wrote: out of cheese");
  EXPECT_EQ(spawn("/bin/sh", {"-c", "kill -9 $$"}),
            failed + "/bin/sh was killed by signal 9 (Killed) and wrote nothing to stderr");
  EXPECT_EQ(spawn("/bin/true"), failed + "/bin/true exited with status 0 and wrote nothing to stderr");
  EXPECT_EQ(spawn("/bin/sleep", {"1000"}, std::chrono::milliseconds(300)),
            "spawn_procs at root/procs=0: timed_out: /bin/sleep was started and did not connect within 300 ms; is it a "
            "ferry program?");
  EXPECT_EQ(node.block_on(echo(residents.actors[0], 4)), 4U) << "a process that did start";
}

TEST_P(ProcessErrors, ForkOfAProcessIsToldThatItsObjectsAreNotItsOwn) {
  Node node(options_for(GetParam()), kProcessActors);
  auto residents = node.block_on(start_residents(node.context(), 1, 64));
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t fork = ::fork();
  if (fork == 0) {
    std::string texts;
    try {
      texts += node.block_on(read_text(residents.memories[0]));
    } catch (const Error& error) {
      texts += error.what();
    }
    texts += '\n';
    const auto sent = residents.actors[0].try_send<&Resident::clear>();
    texts += sent ? "sent" : sent.error().to_text();
    texts += '\n';
    try {
      std::vector<std::byte> memory(8);
      RDMABuffer buffer = node.context().register_memory(std::span(memory));
      texts += "registered";
    } catch (const Error& error) {
      texts += error.what();
    }
    const auto written = ::write(ends[1], texts.data(), texts.size());
    ::_exit(written == static_cast<ssize_t>(texts.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  std::string texts;
  std::array<char, 4096> bytes{};
  for (ssize_t got = 0; (got = ::read(ends[0], bytes.data(), bytes.size())) > 0;) {
    texts.append(bytes.data(), static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(fork, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  const std::string why =
      "wrong_process: this process is a fork of the one in which the object was made; start processes by exec, or make "
      "a node of its own in the fork";
  EXPECT_THAT(texts, MatchesRegex(why + "\ntry_send of ferry::conformance::Resident::clear at actor 2 of process .*: " +
                                  why + "\nregister_memory: " + why));
  EXPECT_EQ(node.block_on(echo(residents.actors[0], 4)), 4U) << "the parent";
  EXPECT_EQ(node.block_on(read_text(residents.memories[0])), "");
}

TEST_P(ProcessErrors, NodeThatGetsNoDescriptorsNamesTheLimitAndTheNextOneWorks) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  int refused = 0;
  for (rlim_t allowed = 0; allowed < 20; ++allowed) {
    const int next = ::dup(0);
    ::close(next);
    const rlimit tight{static_cast<rlim_t>(next) + allowed, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
    const std::string text = refusal_of(options_for(GetParam()));
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    if (text.empty()) {
      break;  // it had enough
    }
    ++refused;
    EXPECT_THAT(text,
                MatchesRegex("node: resource_exhausted: .*: Too many open files \\(EMFILE\\)[:;] .*raise .*limit.* "
                             "\\(`?ulimit -n`?\\)"));
  }
  EXPECT_GT(refused, 3);
  EXPECT_EQ(refusal_of(options_for(GetParam())), "");
}

Task<void> allocate(std::size_t bytes) {
  vector<std::byte> memory(bytes);
  co_return;
}

TEST(AllocationErrors, MemoryThatIsNotThereIsRefusedWithTheNumbersAndTheRemedy) {
  Node node(options_for("shm"), kProcessActors);
  try {
    node.block_on(allocate(std::size_t{1} << 50));
    ADD_FAILURE() << "it was granted";
  } catch (const Error& error) {
    EXPECT_THAT(
        std::string(error.what()),
        MatchesRegex("allocate: resource_exhausted: 1125899906842624 bytes of shared memory are needed and [0-9]+ "
                     "are free in .*; allocate less, free some, or raise that limit"));
  }
  node.block_on(allocate(std::size_t{1} << 20));
}

}  // namespace
}  // namespace ferry::conformance
