// The same seed and binary give the same hashes: again, elsewhere, at other addresses; and nothing else does.
#include <ferry/sim/determinism.hpp>

#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <set>

#include <gmock/gmock.h>

#include <ferry/explorer/worker_processes.hpp>

#include "busy_program.hpp"

namespace ferry::sim::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

WorldOptions swarming(std::uint64_t seed) {
  return {.seed = seed, .hosts = 2, .swarm = Faults::all};
}

std::string hashes_of(std::uint64_t seeds) {
  std::string text;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    text += run_busy({.seed = seed}).to_text() + "\n" + run_busy(swarming(seed)).to_text() + "\n";
  }
  return text;
}

TEST(Determinism, AThousandSeedsGiveAThousandHashesTwice) {
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed = 0; seed < 1'000; ++seed) {
    const WorldOptions options = seed % 2 == 0 ? WorldOptions{.seed = seed} : swarming(seed);
    const WorldResult once = run_busy(options);
    ASSERT_EQ(once.outcome, Outcome::passed) << once.to_text();
    ASSERT_EQ(run_busy(options).to_text(), once.to_text());
    hashes.insert(once.hash);
  }
  EXPECT_EQ(hashes.size(), 1'000U);
}

TEST(Determinism, AlteringAnySingleChoiceChangesTheHash) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    SeededChoices source(seed);
    RecordingChoices recording(source);
    WorldOptions options = swarming(seed);
    options.choices = &recording;
    const WorldResult recorded = run_busy(options);
    ChoiceList choices = recording.choices();
    ASSERT_GT(choices.size(), 10U);
    for (Choice& choice : choices) {
      const std::uint64_t answer = choice.answer;
      for (const std::uint64_t other : {answer - 1, std::uint64_t{0}}) {
        choice.answer = other;
        ReplayChoices replayed(choices);
        options.choices = &replayed;
        ASSERT_NE(run_busy(options).hash, recorded.hash) << to_text({choice}) << " was " << answer;
      }
      choice.answer = answer;
    }
  }
}

TEST(Determinism, AlteringAPayloadByteChangesTheDataAlone) {
  const WorldResult seven = run_busy({.seed = 1}, 7);
  const WorldResult six = run_busy({.seed = 1}, 6);
  EXPECT_EQ(seven.hash, six.hash);
  EXPECT_NE(seven.data, six.data);
}

// This binary again, which prints what hashes_of() gives, with or without randomised addresses.
std::string hashes_elsewhere(bool randomised) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    const int persona = ::personality(0xffffffff);
    if (!randomised && (persona < 0 || ::personality(static_cast<unsigned>(persona) | ADDR_NO_RANDOMIZE) < 0)) {
      ::_exit(77);
    }
    ::execl("/proc/self/exe", "determinism", "--print-hashes", nullptr);
    ::_exit(1);
  }
  ::close(ends[1]);
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t got = 0; (got = ::read(ends[0], buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 77 ? "no personality" : text;
}

TEST(Determinism, HashesAreTheSameAtOtherAddressesAndInOtherProcesses) {
  const std::string here = hashes_of(40);
  EXPECT_EQ(hashes_elsewhere(true), here);
  EXPECT_EQ(hashes_elsewhere(true), here);
  const std::string fixed = hashes_elsewhere(false);
  if (fixed == "no personality") {
    GTEST_SKIP() << "this machine does not let addresses be fixed";
  }
  EXPECT_EQ(fixed, here);
  explorer::WorkerProcesses crew({.workers = 2});
  EXPECT_EQ(crew.once([](const Crew::Note&) { return hashes_of(40); }, {}).value, here);
}

TEST(CheckDeterminism, PassesWhatDependsOnItsSeedAlone) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const auto difference =
        check_determinism(swarming(seed), [](const WorldOptions& options) { return run_busy(options); });
    EXPECT_FALSE(difference) << difference->to_text();
  }
}

int worlds = 0;

Task<void> count_worlds(Context) {
  const Duration time(1'000 + ++worlds);
  co_await sleep_for(time);
}

TEST(CheckDeterminism, NamesTheFirstStepThatAStaticChanges) {
  const auto difference =
      check_determinism({.seed = 1}, kBusyActors, [](Context& context) { return count_worlds(context); });
  ASSERT_TRUE(difference);
  EXPECT_GT(difference->step, 1U);
  EXPECT_THAT(difference->to_text(), AllOf(HasSubstr("step "), HasSubstr("differs: alone 0.000001001 s  root: timer"),
                                           HasSubstr("; after another world 0.000001003 s  root: timer")));
}

Task<void> sleep_by_address(Context) {
  const auto block = std::make_unique<std::array<char, 40>>();
  co_await sleep_for(Duration(reinterpret_cast<std::uintptr_t>(block.get()) % 1'000'000));
}

TEST(CheckDeterminism, FindsWhatDependsOnAddresses) {
  const auto difference =
      check_determinism({.seed = 1}, kBusyActors, [](Context& context) { return sleep_by_address(context); });
  ASSERT_TRUE(difference);
  EXPECT_THAT(difference->to_text(), HasSubstr("differs: alone "));
}

WorldResult run_with_data_of_static(const WorldOptions& options) {
  return run_busy(options, static_cast<std::uint64_t>(++worlds));
}

TEST(CheckDeterminism, FindsOtherBytesToo) {
  const auto difference = check_determinism({.seed = 1}, run_with_data_of_static);
  ASSERT_TRUE(difference);
  EXPECT_THAT(difference->to_text(), HasSubstr("data 0x"));
}

}  // namespace
}  // namespace ferry::sim::test

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--print-hashes") {
    std::fputs(ferry::sim::test::hashes_of(40).c_str(), stdout);
    return std::fflush(stdout) == 0 ? 0 : 1;
  }
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
