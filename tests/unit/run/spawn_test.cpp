// Programs that make a Node in place of run() and spawn processes: this one is root, child, and the child that forgot.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include <ferry/ferry.hpp>

#include <text_of.hpp>

namespace ferry::run_tests {
namespace {

using testing::HasSubstr;

constexpr const char* kForgetful = "FERRY_TEST_FORGETFUL";
constexpr const char* kBare = "FERRY_TEST_BARE";
constexpr int kRefused = 7;
constexpr int kServed = 8;

class Answer : public Actor {
 public:
  explicit Answer(ActorContext&) {}
  std::uint64_t answer() { return 42; }
  bool is_child() { return ferry::is_child(); }
  static constexpr auto endpoints = ferry::endpoints<&Answer::answer, &Answer::is_child>;
};

Task<std::uint64_t> ask_a_child(Context context) {
  auto procs = co_await context.this_host().spawn_procs({{"part", 1}});
  auto actors = co_await procs.spawn<Answer>("answer");
  EXPECT_TRUE(co_await actors.only().call<&Answer::is_child>());
  co_return co_await actors.only().call<&Answer::answer>();
}

TEST(Spawn, ChildOfANodeServesItWhereMainSaysSo) {
  Node node(NodeOptions{}, actors<Answer>);
  EXPECT_FALSE(is_child());
  EXPECT_EQ(node.block_on(ask_a_child(node.context())), 42U);
}

// Without the refusal each child would be a root, and spawn the next.
TEST(Spawn, ChildThatMakesANodeInPlaceOfServingIsRefusedAndTheParentTold) {
  Node node(NodeOptions{}, actors<Answer>);
  ASSERT_EQ(::setenv(kForgetful, "1", 1), 0);
  const std::string text = test::text_of([&] { node.block_on(ask_a_child(node.context())); });
  ::unsetenv(kForgetful);
  EXPECT_THAT(text, HasSubstr("spawn_failed"));
  EXPECT_THAT(text, HasSubstr("status 7"));
}

TEST(Spawn, ServingReturnsAtOnceInAProcessThatNobodySpawned) {
  serve_if_child(actors<Answer>);
}

// execve with an empty list. Linux from 5.18 on gives the program an empty first argument in place of none; before
// that there is nothing to give to a child.
TEST(Spawn, RootWithoutArgumentsIsServedByItsChildrenOrToldWhyNot) {
  const pid_t root = ::fork();
  if (root == 0) {
    ::setenv(kBare, "1", 1);
    std::array<char*, 1> none{};
    ::execve("/proc/self/exe", none.data(), environ);
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(root, &status, 0), root);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_THAT(WEXITSTATUS(status), testing::AnyOf(kServed, kRefused));
}

int spawn_without_arguments() {
  Node node(NodeOptions{}, actors<Answer>);
  std::uint64_t answer = 0;
  const std::string text = test::text_of([&] { answer = node.block_on(ask_a_child(node.context())); });
  std::fprintf(stderr, "%s\n", text.c_str());
  return answer == 42 ? kServed : text.find("/proc/self/cmdline") != std::string::npos ? kRefused : 1;
}

int forget_to_serve() {
  const std::string text = test::text_of([] { const Node node; });
  std::fprintf(stderr, "%s\n", text.c_str());
  return text.find("serve_if_child") == std::string::npos ? 1 : kRefused;
}

}  // namespace
}  // namespace ferry::run_tests

int main(int argc, char** argv) {
  using namespace ferry::run_tests;
  if (ferry::is_child() && std::getenv(kForgetful) != nullptr) {
    return forget_to_serve();
  }
  ferry::serve_if_child(ferry::actors<Answer>);
  if (std::getenv(kBare) != nullptr) {
    return spawn_without_arguments();
  }
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
