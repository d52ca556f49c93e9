#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <ferry/base/sleep.hpp>

#include <local_node.hpp>

namespace ferry {
namespace {

class Counter final : public Actor {
 public:
  explicit Counter(ActorContext& context, std::int64_t start = 0) : context_(context), value_(start) {}

  std::int64_t add(std::int64_t by) { return value_ += by; }
  Task<std::int64_t> add_later(std::int64_t by) {
    auto nap = sleep_for(std::chrono::milliseconds(1));
    co_await nap;
    co_return value_ += by;
  }
  std::string fail(const std::string& text) { throw std::runtime_error(text); }
  Task<std::int64_t> call_myself() {
    auto call = context_.self<Counter>().call<&Counter::add>(1);
    co_return co_await call;
  }

  static constexpr auto endpoints =
      ferry::endpoints<&Counter::add, &Counter::add_later, &Counter::fail, &Counter::call_myself>;

 private:
  ActorContext& context_;
  std::int64_t value_;
};

class Refuser final : public Actor {
 public:
  explicit Refuser(ActorContext&) { throw std::runtime_error("no config"); }
  void nothing() {}
  static constexpr auto endpoints = ferry::endpoints<&Refuser::nothing>;
};

Task<ActorRef<Counter>> spawn_counter(Context context, std::int64_t start) {
  auto spawned = context.this_proc().spawn<Counter>("counter", start);
  auto mesh = co_await spawned;
  co_return mesh.only();
}

Task<std::int64_t> add_many(Context context) {
  auto spawned = spawn_counter(context, 5);
  auto counter = co_await spawned;
  std::int64_t last = 0;
  for (int round = 0; round < 1000; ++round) {
    last = co_await counter.call<&Counter::add>(1);
  }
  last = co_await counter.call<&Counter::add_later>(10);
  co_return last;
}

TEST(Actor, KeepsItsStateFromCallToCall) {
  test::LocalNode node(actors<Counter>);
  EXPECT_EQ(node.run(add_many(node.context())), 1015);
}

Task<Failure> failing_call(Context context) {
  auto spawned = spawn_counter(context, 0);
  auto counter = co_await spawned;
  auto outcome = as_result(counter.call<&Counter::fail>("boom 7"));
  auto result = co_await outcome;
  auto after = counter.call<&Counter::add>(3);
  EXPECT_EQ(co_await after, 3);
  co_return result.error();
}

TEST(Actor, ExceptionOfAnEndpointReachesTheCallerWithItsText) {
  test::LocalNode node(actors<Counter>);
  const Failure failure = node.run(failing_call(node.context()));
  EXPECT_EQ(failure.code(), errc::endpoint_failed);
  EXPECT_EQ(failure.detail(),
            "ferry::{anonymous}::Counter::fail of actor \"counter\" threw std::runtime_error: boom 7");
}

Task<Failure> self_call(Context context) {
  auto spawned = spawn_counter(context, 0);
  auto counter = co_await spawned;
  auto outcome = as_result(counter.call<&Counter::call_myself>());
  auto result = co_await outcome;
  co_return result.error();
}

TEST(Actor, CallOfItselfFailsInPlaceOfWaitingForEver) {
  test::LocalNode node(actors<Counter>);
  const Failure failure = node.run(self_call(node.context()));
  EXPECT_EQ(failure.code(), errc::endpoint_failed);
  EXPECT_NE(failure.detail().find("would_deadlock"), std::string::npos) << failure.detail();
}

Task<ActorMesh<Refuser>> spawn_refuser(Context context) {
  auto spawned = context.this_proc().spawn<Refuser>("refuser");
  co_return co_await spawned;
}

TEST(Actor, ConstructorThatThrowsFailsTheSpawnWithItsText) {
  test::LocalNode node(actors<Refuser>);
  for (int round = 0; round < 2; ++round) {  // the name is free again
    try {
      node.run(spawn_refuser(node.context()));
      FAIL() << "the spawn succeeded";
    } catch (const MeshError& error) {
      EXPECT_NE(std::string(error.what()).find("no config"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace ferry
