// Completion tokens of Boost.Asio: futures, callbacks, Asio's own coroutines; handlers are always posted.
#if defined(__GNUC__) && !defined(__clang__)
// Of g++ 12 about inlined code of Asio: frames of its coroutines, promises of use_future.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <ferry/asio.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <text_of.hpp>

#include <ferry/ferry.hpp>

#include "job_secret.hpp"

namespace ferry::run_tests {
namespace {

namespace asio = boost::asio;

class Adder final : public Actor {
 public:
  explicit Adder(ActorContext&) {}
  std::uint64_t add(std::uint64_t a, std::uint64_t b) { return a + b; }
  void fail(const std::string& text) { throw std::runtime_error(text); }
  Task<void> never() {
    auto night = sleep_for(std::chrono::hours(1000));
    co_await night;
  }
  static constexpr auto endpoints = ferry::endpoints<&Adder::add, &Adder::fail, &Adder::never>;
};

Task<ActorRef<Adder>> spawn_adder(Context context) {
  auto spawning = context.this_proc().spawn<Adder>("adder");
  const ActorMesh<Adder> mesh = co_await spawning;
  co_return mesh.only();
}

std::string text_of(const std::exception_ptr& error) {
  return test::text_of([&error] {
    if (error) {
      std::rethrow_exception(error);
    }
  });
}

// Memory of one node as another holds it, reached by "shm" or "tcp"; or of the same node, by "local": in place.
class AsioTokens : public ::testing::TestWithParam<const char*> {
 protected:
  AsioTokens() : owner_(options()) {
    buffer_ = owner_.context().register_memory(std::span(words_));
    if (std::string(GetParam()) != "local") {
      reader_.emplace(options());
    }
    ref_ = BufferRef::from_text(user().context(), buffer_.ref().to_text());
    adder_ = user().block_on(spawn_adder(user().context()));
  }
  ~AsioTokens() override {
    reader_.reset();
    buffer_ = RDMABuffer();
  }

  NodeOptions options() const {
    NodeOptions options;
    options.transports = std::string(GetParam()) == "local" ? "auto" : GetParam();
    options.secret_file = secret_.path();
    options.threads = 2;
    return options;
  }
  Node& user() { return reader_ ? *reader_ : owner_; }
  const BufferRef& ref() const { return ref_; }
  const ActorRef<Adder>& adder() const { return adder_; }
  void revoke() { buffer_ = RDMABuffer(); }

  std::array<std::uint64_t, 4> words_{1, 2, 3, 4};
  std::array<std::uint64_t, 4> local_{};

 private:
  struct Owner : Node {
    explicit Owner(const NodeOptions& options) : Node(options, actors<Adder>) {}
  };
  const SecretFile secret_;
  Owner owner_;
  std::optional<Owner> reader_;
  RDMABuffer buffer_;
  BufferRef ref_;
  ActorRef<Adder> adder_;
};
INSTANTIATE_TEST_SUITE_P(Over, AsioTokens, ::testing::Values("local", "shm", "tcp"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST_P(AsioTokens, FutureGivesTheValueOrTheError) {
  std::future<void> read = async(ref().read_into(std::span(local_)), asio::use_future);
  read.get();
  EXPECT_EQ(local_, words_);
  std::future<std::uint64_t> added = async(ref().fetch_add(5), asio::use_future);
  EXPECT_EQ(added.get(), 1U);
  std::future<std::uint64_t> called = async(adder().call<&Adder::add>(2, 3), asio::use_future);
  EXPECT_EQ(called.get(), 5U);
  std::future<void> failed = async(adder().call<&Adder::fail>("boom"), asio::use_future);
  try {
    failed.get();
    ADD_FAILURE() << "it succeeded";
  } catch (const Error& error) {
    EXPECT_EQ(error.ferry_code(), errc::endpoint_failed);
    EXPECT_THAT(error.what(), testing::HasSubstr("boom"));
  }
  revoke();
  std::future<void> stale = async(ref().read_into(std::span(local_)), asio::use_future);
  try {
    stale.get();
    ADD_FAILURE() << "it succeeded";
  } catch (const Error& error) {
    EXPECT_EQ(error.ferry_code(), errc::revoked);
  }
}

TEST_P(AsioTokens, CallbackRunsOnItsExecutorNeverInsideTheCallAndKeepsTheContextBusy) {
  asio::io_context loop;
  std::vector<std::string> order;
  std::thread::id ran_on;
  async(ref().read_into(std::span(local_)), asio::bind_executor(loop, [&](const std::exception_ptr& error) {
          ran_on = std::this_thread::get_id();
          order.push_back("read: " + text_of(error));
          async(adder().call<&Adder::add>(40, 2),
                asio::bind_executor(loop, [&](const std::exception_ptr& failed, std::uint64_t sum) {
                  order.push_back("sum " + std::to_string(sum) + ": " + text_of(failed));
                }));
          order.push_back("called");
        }));
  order.push_back("started");
  std::thread runner([&loop] { loop.run(); });  // ends when the second handler has run: nothing else keeps it
  const std::thread::id runner_id = runner.get_id();
  runner.join();
  EXPECT_THAT(order, testing::ElementsAre("started", "read: no error", "called", "sum 42: no error"));
  EXPECT_EQ(ran_on, runner_id);
  EXPECT_EQ(local_, words_);
}

TEST_P(AsioTokens, CallbackWithoutAnExecutorRunsOnAnotherThread) {
  std::promise<std::thread::id> ran;
  async(ref().read_into(std::span(local_)),
        [&ran](const std::exception_ptr&) { ran.set_value(std::this_thread::get_id()); });
  EXPECT_NE(ran.get_future().get(), std::this_thread::get_id());
}

asio::awaitable<std::uint64_t> read_add_call(BufferRef ref, ActorRef<Adder> adder, std::span<std::uint64_t> local) {
  std::uint64_t sum = 0;
  for (int round = 0; round < 10; ++round) {
    co_await async(ref.read_into(local), asio::use_awaitable);
    const std::uint64_t old = co_await async(ref.fetch_add(1), asio::use_awaitable);
    EXPECT_EQ(old, local[0]);
    sum = co_await async(adder.call<&Adder::add>(sum, old), asio::use_awaitable);
  }
  std::string text;
  try {
    co_await async(adder.call<&Adder::fail>("in a coroutine"), asio::use_awaitable);
  } catch (const Error& error) {
    text = error.what();
  }
  EXPECT_THAT(text, testing::HasSubstr("in a coroutine"));
  co_return sum;
}

TEST_P(AsioTokens, CoroutinesOfAsioAwaitThem) {
  asio::io_context loop;
  std::future<std::uint64_t> sum =
      asio::co_spawn(loop, read_add_call(ref(), adder(), std::span(local_)), asio::use_future);
  loop.run();
  EXPECT_EQ(sum.get(), 10U * 1 + 45);
  EXPECT_EQ(words_[0], 11U);
}

TEST_P(AsioTokens, DeferredStartsNothingBeforeItIsCalled) {
  auto later = async(ref().fetch_add(1), asio::deferred);
  EXPECT_EQ(words_[0], 1U);
  EXPECT_EQ(std::move(later)(asio::use_future).get(), 1U);
  EXPECT_EQ(words_[0], 2U);
}

TEST_P(AsioTokens, EmptyReferencesAreRefusedLikeAnyOther) {
  std::promise<std::string> text;
  async(BufferRef().fetch_add(1),
        [&text](const std::exception_ptr& error, std::uint64_t) { text.set_value(text_of(error)); });
  constexpr const char* kRefused = "async: invalid_argument: the reference is empty (default-constructed)";
  EXPECT_EQ(text.get_future().get(), kRefused);
  std::future<void> call = async(ActorRef<Adder>().call<&Adder::fail>("x"), asio::use_future);
  EXPECT_EQ(test::text_of([&call] { call.get(); }), kRefused);
}

TEST_P(AsioTokens, AForkIsRefused) {
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string read = test::text_of([&] { async(ref().read_into(std::span(local_)), asio::use_future).get(); });
    const std::string call = test::text_of([&] { async(adder().call<&Adder::add>(2, 3), asio::use_future).get(); });
    ::_exit(read.starts_with("async: wrong_process: ") && call == read ? 5 : 6);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 5) << status;
}

TEST_P(AsioTokens, ThreadsThatStartManyAtOnceEachGetTheirOwn) {
  constexpr std::uint64_t kThreads = 4;
  constexpr std::uint64_t kCalls = 200;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      std::vector<std::future<std::uint64_t>> sums;
      std::vector<std::future<std::uint64_t>> adds;
      for (std::uint64_t call = 0; call < kCalls; ++call) {
        sums.push_back(async(adder().call<&Adder::add>(thread, call * 10), asio::use_future));
        adds.push_back(async(ref().fetch_add(1, {.offset = 8}), asio::use_future));
      }
      for (std::uint64_t call = 0; call < kCalls; ++call) {
        wrong += sums[call].get() == thread + call * 10 ? 0 : 1;
        adds[call].get();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(words_[1], 2 + kThreads * kCalls);
}

TEST(AsioTokensAtTheEnd, NodeEndsWhatIsUnderWayAndWaitsForIt) {
  for (int round = 0; round < 40; ++round) {
    std::vector<std::future<void>> calls;
    {
      Node node({.transports = "shm", .threads = 2}, actors<Adder>);
      const ActorRef<Adder> adder = node.block_on(spawn_adder(node.context()));
      for (int call = 0; call < 8; ++call) {
        calls.push_back(async(adder.call<&Adder::never>(), asio::use_future));
      }
    }
    for (std::future<void>& call : calls) {
      EXPECT_THAT(test::text_of([&call] { call.get(); }), testing::ContainsRegex("actor_stopped: |shut_down: "));
    }
  }
}

}  // namespace
}  // namespace ferry::run_tests
