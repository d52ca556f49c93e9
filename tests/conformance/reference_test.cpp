#include <string>
#include <vector>

#include "patterns.hpp"
#include "scenario.hpp"

namespace ferry::conformance {
namespace {

FERRY_CONFORMANCE(Reference);

using testing::HasSubstr;

class Holder final : public Actor {
 public:
  explicit Holder(ActorContext& context, std::uint64_t number = 1)
      : context_(context), number_(number), memory_(10'000), buffer_(context.register_memory(std::span(memory_))) {
    fill_pattern(memory_, number);
  }

  BufferRef memory() const { return buffer_.ref(); }
  std::uint64_t number() const { return number_; }
  Task<bool> reads(BufferRef memory, std::uint64_t number, std::uint64_t from) {
    std::vector<std::byte> local(memory.size());
    co_await memory.read_into(std::span(local));
    co_return is_pattern(local, number, from);
  }
  // Reads its own memory through its own reference.
  Task<bool> reads_itself() { return reads(buffer_.ref(), number_, 0); }
  Task<std::uint64_t> asks(ActorRef<Holder> other) { co_return co_await other.call<&Holder::number>(); }
  ActorRef<Holder> itself() const { return context_.self<Holder>(); }
  BufferRef echo(BufferRef memory) { return memory; }

  static constexpr auto endpoints =
      ferry::endpoints<&Holder::memory, &Holder::number, &Holder::reads, &Holder::reads_itself, &Holder::asks,
                       &Holder::itself, &Holder::echo>;

 private:
  ActorContext& context_;
  std::uint64_t number_;
  vector<std::byte> memory_;
  RDMABuffer buffer_;
};

ScenarioOptions with_holders(std::size_t nodes) {
  return {.nodes = nodes, .classes = actors<Holder>.classes(), .seeds = 6};
}

Task<void> text_between_nodes(Cluster& cluster) {
  Shared<std::byte> owner(cluster, 1, 1'000);
  fill_pattern(owner.values, 1);
  const BufferRef ref = owner.ref(cluster, 0, Access::read).subrange(100, 300);
  const std::string text = ref.to_text();
  EXPECT_THAT(text, testing::StartsWith("ferry1:"));
  EXPECT_EQ(text.find_first_of(" \n\t"), std::string::npos);
  EXPECT_LE(encode_reference(ref).size(), limits::kReferenceBytes);
  const BufferRef parsed = BufferRef::from_text(cluster.node(2), text);
  EXPECT_EQ(parsed.size(), 300U);
  EXPECT_EQ(parsed.rights(), Access::read);
  EXPECT_EQ(parsed.owner(), cluster.node(1).self());
  EXPECT_EQ(parsed.to_text(), text);
  std::vector<std::byte> local(300);
  auto read = cluster.on(2, ferry::detail::as_task(parsed.read_into(std::span(local))));
  co_await read;
  EXPECT_TRUE(is_pattern(local, 1, 100));
  auto written = cluster.on(2, code_of(parsed.write_from(std::span(local))));
  const errc code = co_await written;
  EXPECT_EQ(code, errc::access_denied);
}
TEST_P(Reference, TextTakesAReferenceToANodeThatNeverMetItsOwner) {
  play(text_between_nodes, {.nodes = 3});
}

errc refusal_of(NodeCore& node, const std::string& text) {
  try {
    static_cast<void>(BufferRef::from_text(node, text));
  } catch (const Error& error) {
    return error.ferry_code();
  }
  return errc{};
}

Task<void> altered_texts(Cluster& cluster) {
  Shared<std::byte> owner(cluster, 1, 1'000);
  const std::string text = owner.ref(cluster, 0).to_text();
  NodeCore& node = cluster.node(0);
  for (const std::string& wrong :
       {std::string(), std::string("ferry1:"), std::string("ferry2:") + text.substr(7), text + "00", text + " ",
        text.substr(0, text.size() - 1), text.substr(0, text.size() - 2), text.substr(0, 40), "x" + text,
        text.substr(0, 20) + "g" + text.substr(21), std::string(100'000, 'a'), "ferry1:" + std::string(400, '0')}) {
    EXPECT_EQ(refusal_of(node, wrong), errc::malformed) << wrong.substr(0, 100);
  }
  for (std::size_t at = 7; at < text.size(); ++at) {  // any altered digit
    std::string wrong = text;
    wrong[at] = wrong[at] == '7' ? '8' : '7';
    EXPECT_EQ(refusal_of(node, wrong), errc::malformed) << "digit " << at;
  }
  EXPECT_THROW(static_cast<void>(BufferRef().to_text()), Error);
  co_return;
}
TEST_P(Reference, AlteredTextsAreRefused) {
  play(altered_texts, {.seeds = 1});
}

Task<void> passed_on(Cluster& cluster) {
  auto one = spawn_on<Holder>(cluster, 1, "one", std::uint64_t{11});
  const ActorRef<Holder> first = co_await one;
  auto two = spawn_on<Holder>(cluster, 2, "two", std::uint64_t{22});
  const ActorRef<Holder> second = co_await two;
  const BufferRef memory = co_await first.call<&Holder::memory>();
  EXPECT_EQ(memory.owner(), cluster.node(1).self());
  const bool by_third = co_await second.call<&Holder::reads>(memory.subrange(1'000, 500), 11, 1'000);
  EXPECT_TRUE(by_third) << "a reference passed on to a third process";
  const BufferRef back = co_await second.call<&Holder::echo>(memory.subrange(7, 100));
  std::vector<std::byte> local(100);
  co_await back.read_into(std::span(local));
  EXPECT_TRUE(is_pattern(local, 11, 7)) << "a reference that came back";
  const bool by_owner = co_await first.call<&Holder::reads>(back, 11, 7);
  EXPECT_TRUE(by_owner) << "a reference that came home";
  const BufferRef nothing = co_await second.call<&Holder::echo>(BufferRef());
  EXPECT_FALSE(nothing);

  const std::uint64_t asked = co_await second.call<&Holder::asks>(first);
  EXPECT_EQ(asked, 11U) << "an actor reference passed on to a third process";
  const ActorRef<Holder> same = co_await first.call<&Holder::itself>();
  EXPECT_EQ(same, first);
  const std::uint64_t number = co_await same.call<&Holder::number>();
  EXPECT_EQ(number, 11U);
}
TEST_P(Reference, ReferencesWorkForWhoeverTheyArePassedOnTo) {
  play(passed_on, with_holders(3));
}

Task<void> within_one_process(Cluster& cluster) {
  auto one = spawn_on<Holder>(cluster, 0, "one", std::uint64_t{1});
  const ActorRef<Holder> first = co_await one;
  auto two = spawn_on<Holder>(cluster, 0, "two", std::uint64_t{2});
  const ActorRef<Holder> second = co_await two;
  const bool itself = co_await first.call<&Holder::reads_itself>();
  EXPECT_TRUE(itself);
  const BufferRef memory = co_await first.call<&Holder::memory>();
  const bool other = co_await second.call<&Holder::reads>(memory, 1, 0);
  EXPECT_TRUE(other);
  const std::uint64_t asked = co_await second.call<&Holder::asks>(first);
  EXPECT_EQ(asked, 1U);
}
TEST_P(Reference, ActorsOfOneProcessReachTheirOwnAndEachOthersMemory) {
  play(within_one_process, with_holders(1));
}

Task<void> empty_reference(Cluster& cluster) {
  const BufferRef empty;
  EXPECT_FALSE(empty);
  EXPECT_EQ(empty.size(), 0U);
  std::array<std::byte, 0> nothing{};
  const Failure read = co_await failure_of(empty.read_into(std::span(nothing)));
  const Failure write = co_await failure_of(empty.write_from(std::span(nothing)));
  const Failure add = co_await failure_of(empty.fetch_add(1));
  const Failure flush = co_await failure_of(empty.flush());
  for (const Failure& failure : {read, write, add, flush}) {
    EXPECT_TRUE(failure && failure.code() == errc::invalid_argument);
    EXPECT_THAT(failure.to_text(), HasSubstr("empty"));
  }
  const ActorRef<Holder> nobody;
  const Failure call = co_await failure_of(nobody.call<&Holder::number>());
  EXPECT_TRUE(call && call.code() == errc::invalid_argument);
  static_cast<void>(cluster);
}
TEST_P(Reference, EmptyReferencesSayThatTheyAreEmpty) {
  play(empty_reference);
}

}  // namespace
}  // namespace ferry::conformance
