// What is told of a world in which nothing can happen any more: who waits for what, at whom.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ferry/actor/actor.hpp>
#include <ferry/base/channel.hpp>
#include <ferry/base/start.hpp>
#include <ferry/sim/run.hpp>

namespace ferry::sim::test {
namespace {

using testing::MatchesRegex;

class Silent : public Actor {
 public:
  explicit Silent(ActorContext&) {}

  Task<int> never() {
    auto next = nothing_.next();
    co_return co_await next;
  }
  int count() { return 1; }

  static constexpr auto endpoints = ferry::endpoints<&Silent::never, &Silent::count>;

 private:
  Channel<int> nothing_{1};
};

Task<int> ask_the_silent(Context context) {
  auto procs = co_await context.this_host().spawn_procs({{"procs", 1}});
  auto mesh = co_await procs.spawn<Silent>("silent");
  const ActorRef<Silent> silent = mesh.only();
  auto first = start(silent.call<&Silent::never>());
  auto second = start(silent.call<&Silent::count>());
  auto third = start(silent.call<&Silent::count>());
  co_await first;
  co_return 0;
}

TEST(Stuck, NamesTheCallsThatWaitAndTheEndpointThatKeepsThem) {
  const Report report = sim::run({.seed = 3}, ferry::actors<Silent>,
                                 [](Context& context) -> Task<int> { return ask_the_silent(context); });
  EXPECT_EQ(report.result.outcome, Outcome::stuck);
  const std::string actor = " at actor 2 of process [0-9a-f]+/[0-9a-f]+ \\(root/procs=0\\)";
  const std::string name = "ferry::sim::test::\\{anonymous\\}::Silent::";
  EXPECT_THAT(report.result.what,
              MatchesRegex("root \\(process 1\\): its main task has not ended; waits for a call of " + name + "never" +
                           actor + "; 2 x a call of " + name + "count" + actor +
                           "\nroot/procs=0 \\(process 2\\): serves its parent; waits for the end of " + name +
                           "never of actor \"silent\", with 2 requests behind it"));
}

Task<int> await_a_tag(Context context) {
  std::vector<std::byte> memory(64);
  RDMABuffer buffer = context.register_memory(std::span(memory));
  auto next = buffer.notifications().next();
  const std::uint64_t tag = co_await next;
  co_return static_cast<int>(tag);
}

TEST(Stuck, NamesTheBufferWhoseNotificationIsAwaited) {
  const Report report =
      sim::run({.seed = 3}, ferry::actors<Silent>, [](Context& context) -> Task<int> { return await_a_tag(context); });
  EXPECT_EQ(report.result.what,
            "root (process 1): its main task has not ended; waits for a notification of a buffer of 64 bytes");
}

Task<int> write_for_ever(Context context) {
  std::vector<std::byte> memory(256);
  std::vector<std::byte> local(256);
  RDMABuffer buffer = context.register_memory(std::span(memory));
  const BufferRef own = buffer.ref();
  for (;;) {
    co_await own.write_from(std::span(local));
  }
}

TEST(Stuck, NamesTheOwnerOfWhatIsUnderWay) {
  std::string what;
  for (std::uint64_t steps = 500; steps < 520 && what.find("write_from") == std::string::npos; ++steps) {
    const Report report = sim::run({.seed = 3, .steps = steps}, ferry::actors<Silent>,
                                   [](Context& context) -> Task<int> { return write_for_ever(context); });
    EXPECT_EQ(report.result.outcome, Outcome::steps);
    what = report.result.what;  // between two writes it says nothing of them
  }
  EXPECT_THAT(what, MatchesRegex("root \\(process 1\\): its main task has not ended; waits for "
                                 "write_from of 256 bytes at process [0-9a-f]+/[0-9a-f]+ \\(root\\)"));
}

}  // namespace
}  // namespace ferry::sim::test
