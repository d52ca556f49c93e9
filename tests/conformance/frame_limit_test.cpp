#include <string>
#include <vector>

#include "scenario.hpp"

namespace ferry::conformance {
namespace {

FERRY_CONFORMANCE(FrameLimit);

using testing::HasSubstr;

constexpr std::size_t kLimit = 200'000;

class Scale final : public Actor {
 public:
  explicit Scale(ActorContext&) {}
  std::uint64_t weigh(const std::string& text) { return text.size(); }
  std::string blob(std::uint64_t size) { return std::string(size, 'b'); }
  static constexpr auto endpoints = ferry::endpoints<&Scale::weigh, &Scale::blob>;
};

// The text that makes the whole request as large as that.
std::string text_for_frame(std::size_t bytes) {
  const std::string probe(100'000, 'x');
  const std::size_t header = ferry::detail::encode_request<&Scale::weigh>(probe).size() - probe.size();
  return std::string(bytes - header, 'x');
}

Task<void> around_the_limit(Cluster& cluster) {
  auto spawned = spawn_on<Scale>(cluster, 1, "scale");
  const ActorRef<Scale> scale = co_await spawned;
  for (const std::size_t size : {kLimit - 1, kLimit}) {
    const std::string text = text_for_frame(size);
    const std::uint64_t weight = co_await scale.call<&Scale::weigh>(text);
    EXPECT_EQ(weight, text.size());
  }
  for (const std::size_t size : {kLimit + 1, 10 * kLimit}) {
    const std::string text = text_for_frame(size);
    const Failure call = co_await failure_of(scale.call<&Scale::weigh>(text));
    const Failure send = co_await failure_of(scale.send<&Scale::weigh>(text));
    const auto tried = scale.try_send<&Scale::weigh>(text);
    EXPECT_FALSE(tried);
    for (const Failure& failure : {call, send, tried ? Failure() : tried.error()}) {
      EXPECT_TRUE(failure && failure.code() == errc::too_large);
      EXPECT_EQ(failure.effect(), Effect::none);
      EXPECT_THAT(failure.to_text(), HasSubstr(std::to_string(size)));
      EXPECT_THAT(failure.to_text(), HasSubstr(std::to_string(kLimit)));
      EXPECT_THAT(failure.to_text(), HasSubstr("frame_bytes"));
    }
    EXPECT_THAT(call.to_text(), HasSubstr("reference")) << "the remedy";
  }
  const std::uint64_t weight = co_await scale.call<&Scale::weigh>(std::string("still here"));
  EXPECT_EQ(weight, 10U);
}
TEST_P(FrameLimit, SenderIsToldAboutAMessageAboveTheLimitAndTheOthersArrive) {
  play(around_the_limit, {.limits = {.frame_bytes = kLimit}, .classes = actors<Scale>.classes(), .seeds = 3});
}

Task<void> large_replies(Cluster& cluster) {
  auto spawned = spawn_on<Scale>(cluster, 1, "scale");
  const ActorRef<Scale> scale = co_await spawned;
  const std::string most = co_await scale.call<&Scale::blob>(kLimit - 64);
  EXPECT_EQ(most.size(), kLimit - 64);
  const Failure failure = co_await failure_of(scale.call<&Scale::blob>(kLimit + 1));
  EXPECT_TRUE(failure && failure.code() == errc::too_large);
  EXPECT_THAT(failure.to_text(), HasSubstr(std::to_string(kLimit)));
  EXPECT_THAT(failure.to_text(), HasSubstr("Scale::blob"));
  EXPECT_EQ(failure.effect(), Effect::unknown) << "the endpoint has run";
  const std::uint64_t weight = co_await scale.call<&Scale::weigh>(std::string("still here"));
  EXPECT_EQ(weight, 10U);
}
TEST_P(FrameLimit, ReplyAboveTheLimitGivesTheCallerThatError) {
  play(large_replies, {.limits = {.frame_bytes = kLimit}, .classes = actors<Scale>.classes(), .seeds = 3});
}

}  // namespace
}  // namespace ferry::conformance
