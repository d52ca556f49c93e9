// Every order of a small world: finds the one that matters, knows when there is none, and leaves out what is redundant.
#include <ferry/sim/exhaustive.hpp>

#include <array>
#include <set>

#include <gmock/gmock.h>

#include "task_program.hpp"

namespace ferry::sim::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Without any latency, order alone decides.
// And without the steps of NICs that carry messages.
WorldOptions without_latency() {
  WorldOptions options;
  options.fabric.has_message_queues = false;
  options.fabric.latency = Duration::zero();
  options.fabric.bytes_per_microsecond = std::uint64_t{1} << 40;
  return options;
}

// Steps by themselves: each a job of a process, told to `seen`.
class Steps final : public Program {
 public:
  Steps(Process& process, int count, std::string& seen, char letter) : process_(process), seen_(seen), letter_(letter) {
    for (int step = 0; step < count; ++step) {
      jobs_.push_back(std::make_unique<Note>(*this));
    }
    left_ = jobs_.size();
    process_.executor().post(*jobs_.front());
  }

 private:
  struct Note : Job {
    explicit Note(Steps& owner) : Job([](Job& job) noexcept { static_cast<Note&>(job).steps.note(); }), steps(owner) {}
    Steps& steps;
  };
  void note() {
    seen_ += letter_;
    if (--left_ == 0) {
      process_.exit(0);
    } else {
      process_.executor().post(*jobs_[jobs_.size() - left_]);
    }
  }
  Process& process_;
  std::string& seen_;
  const char letter_;
  std::vector<std::unique_ptr<Note>> jobs_;
  std::size_t left_ = 0;
};

RunWorld steps(int processes, int count, std::multiset<std::string>& orders) {
  return [processes, count, &orders](const WorldOptions& options) {
    std::string seen;
    World world(options);
    for (int number = 0; number < processes; ++number) {
      const char letter = static_cast<char>('a' + number);
      world.start(std::string(1, letter), [&seen, count, letter](Process& process) {
        return std::make_unique<Steps>(process, count, seen, letter);
      });
    }
    const WorldResult result = world.run();
    orders.insert(seen);
    return result;
  };
}

TEST(ExploreAll, WithoutReductionRunsEveryOrderOnce) {
  std::multiset<std::string> orders;
  const Exhaustion all = explore_all({.reduce = false}, steps(2, 2, orders));
  EXPECT_TRUE(all.complete) << all.to_text();
  // Each process has four steps: it begins, notes twice, and ends. 8! / (4! 4!) orders.
  EXPECT_EQ(all.worlds, 70U);
  EXPECT_EQ(orders.size(), 70U);
  EXPECT_EQ(std::set<std::string>(orders.begin(), orders.end()).size(), 6U);
}

TEST(ExploreAll, StepsThatDoNotConcernEachOtherNeedOneOrder) {
  std::multiset<std::string> orders;
  const Exhaustion two = explore_all({}, steps(2, 2, orders));
  EXPECT_TRUE(two.complete);
  EXPECT_EQ(two.worlds, 1U);
  const Exhaustion three = explore_all({}, steps(3, 4, orders));
  EXPECT_TRUE(three.complete);
  EXPECT_EQ(three.worlds, 1U);
}

TEST(ExploreAll, SaysWhereItStoppedBeforeTheEnd) {
  std::multiset<std::string> orders;
  const Exhaustion few = explore_all({.worlds = 20, .reduce = false}, steps(2, 2, orders));
  EXPECT_FALSE(few.complete);
  EXPECT_EQ(few.to_text(), "incomplete: 20 worlds passed, 0 more were redundant");
  int asked = 0;
  const auto third = [&asked] { return ++asked > 3; };
  EXPECT_EQ(explore_all({.give_up = third, .reduce = false}, steps(2, 2, orders)).worlds, 3U);
}

// Two processes add one to a word: by a read and a write, or by an atomic.
Task<void> own_word(Island& island, Board& board, std::uint64_t& word, int& left) {
  RDMABuffer buffer = register_memory(island.node(), std::span(&word, 1));
  board.post("word", island, buffer);
  while (left > 0) {
    co_await sleep_for(1s);
  }
}

Task<void> own_words(Island& island, Board& board, std::array<std::uint64_t, 2>& words, bool& is_over) {
  RDMABuffer buffer = register_memory(island.node(), std::span(words));
  board.post("words", island, buffer);
  while (!is_over) {
    co_await sleep_for(1s);
  }
}

Task<void> write_words(Island& island, Board& board, std::uint64_t value) {
  const BufferRef ref = board.get("words", island);
  const std::array<std::uint64_t, 2> words{value, value};
  std::array<std::uint64_t, 2> before{};
  co_await ref.read_into(std::span(before));  // the connections are made one after another: their order is no matter
  co_await sleep_for(TimePoint(1500us) - island.world().now());
  const WriteOptions unconfirmed{.completion = transmitted};  // an answer of the owner's would only add orders
  co_await ref.write_from(std::span(words), unconfirmed);
}

Task<void> add_one(Island& island, Board& board, bool is_atomic) {
  const BufferRef ref = board.get("word", island);
  std::array<std::uint64_t, 1> word{};
  if (is_atomic) {
    co_await ref.fetch_add(1);
  } else {
    co_await ref.read_into(std::span(word));
    ++word[0];
    co_await ref.write_from(std::span(word));
  }
}

RunWorld adders(bool is_atomic) {
  return [is_atomic](const WorldOptions& options) {
    Board board;
    std::uint64_t word = 0;
    int left = 2;
    World world(options);
    world.start("owner", run_task([&](Island& island) { return own_word(island, board, word, left); }));
    world.at(1ms, [&] {
      for (const char* name : {"first", "second"}) {
        world.start(name, run_task([&](Island& island) { return add_one(island, board, is_atomic); }));
      }
    });
    world.at(2ms, [&] {
      left = 0;
      if (word != 2) {
        world.fail("an addition was lost");
      }
    });
    return world.run();
  };
}

TEST(ExploreAll, FindsTheOrderInWhichAnAdditionIsLostAndItsArtefactRunsAgain) {
  const Exhaustion all = explore_all({.world = without_latency()}, adders(false));
  ASSERT_TRUE(all.failure) << all.to_text();
  EXPECT_EQ(all.failure->smallest.what, "an addition was lost");
  EXPECT_THAT(all.failure->to_text(), HasSubstr("# found by exhaustive with "));
  const auto again = replay(all.failure->to_text(), without_latency(), adders(false));
  ASSERT_TRUE(again) << again.error().to_text();
  EXPECT_EQ(again->to_text(), all.failure->smallest.to_text());
}

TEST(ExploreAll, KnowsThatNoOrderLosesAnAtomicAddition) {
  const Exhaustion all = explore_all({.world = without_latency()}, adders(true));
  EXPECT_FALSE(all.failure) << all.to_text();
  EXPECT_TRUE(all.complete) << all.to_text();
  EXPECT_GT(all.worlds, 1U);
  const Exhaustion naive =
      explore_all({.worlds = 20 * all.worlds, .reduce = false, .world = without_latency()}, adders(true));
  EXPECT_FALSE(naive.complete) << naive.to_text();
}

// Writers of two words each, in one operation torn into two packets; what the owner has in the end.
RunWorld writers(int count, std::set<std::string>& ends) {
  return [count, &ends](const WorldOptions& options) {
    Board board;
    std::array<std::uint64_t, 2> words{};
    bool is_over = false;
    World world(options);
    world.start("owner", run_task([&](Island& island) { return own_words(island, board, words, is_over); }));
    for (int number = 1; number <= count; ++number) {
      world.at(1ms + number * 10us, [&world, &board, number] {
        const auto value = static_cast<std::uint64_t>(number);
        world.start("writer", run_task([&board, value](Island& island) { return write_words(island, board, value); }));
      });
    }
    world.at(2ms, [&] { is_over = true; });
    const WorldResult result = world.run();
    if (result.outcome == Outcome::passed) {  // not given up as redundant
      ends.insert(std::to_string(words[0]) + std::to_string(words[1]));
    }
    return result;
  };
}

TEST(ExploreAll, ReachesEveryEndOfTornWrites) {
  WorldOptions options = without_latency();
  options.fabric.mtu = 8;
  std::set<std::string> ends;
  const Exhaustion all = explore_all({.world = options}, writers(2, ends));
  EXPECT_TRUE(all.complete) << all.to_text();
  EXPECT_EQ(ends, (std::set<std::string>{"11", "12", "21", "22"}));
}

// Random programs of bare steps: each process takes some of its own, and some send a message to another one. What each
// of them saw, in its order, is the end of the world.
struct Sending {
  std::vector<std::vector<std::size_t>> to;  // by process and step: who is sent a message; its own number: nobody
};

Sending random_sending(Random& random) {
  Sending program;
  program.to.resize(2 + random.below(2));
  for (std::vector<std::size_t>& steps : program.to) {
    for (std::uint64_t left = 1 + random.below(program.to.size() == 2 ? 3 : 2); left > 0; --left) {
      steps.push_back(random.below(program.to.size()));
    }
  }
  return program;
}

class SendingWorld {
 public:
  SendingWorld(const Sending& program, const WorldOptions& options)
      : program_(program), world_(options), seen_(program.to.size()) {
    for (std::size_t process = 0; process < program_.to.size(); ++process) {
      world_.start("one", [this, process](Process& self) -> std::unique_ptr<Program> {
        processes_.push_back(&self);
        take(process, 0);
        return nullptr;
      });
    }
  }

  WorldResult run(std::set<std::string>& ends) {
    WorldResult result = world_.run();
    std::string end;
    for (const std::string& seen : seen_) {
      end += seen + "|";
    }
    std::size_t expected = seen_.size();  // the bars
    for (std::size_t process = 0; process < program_.to.size(); ++process) {
      for (const std::size_t to : program_.to[process]) {
        expected += to == process ? 1 : 2;
      }
    }
    if (end.size() == expected) {  // not given up before
      ends.insert(end);
    }
    result.outcome = result.outcome == Outcome::stuck ? Outcome::passed : result.outcome;  // no process ends
    return result;
  }

 private:
  struct Message : Step {
    Message(SendingWorld& owner, std::size_t sender, std::size_t receiver)
        : Step([](Step& step) noexcept {
            auto& message = static_cast<Message&>(step);
            message.world.seen_[message.to] += static_cast<char>('A' + message.from);
          }),
          world(owner),
          from(sender),
          to(receiver) {}
    SendingWorld& world;
    const std::size_t from;
    const std::size_t to;
  };
  struct Taken : Job {
    Taken(SendingWorld& owner, std::size_t whose, std::size_t number)
        : Job([](Job& job) noexcept {
            auto& taken = static_cast<Taken&>(job);
            taken.world.take(taken.process, taken.step);
          }),
          world(owner),
          process(whose),
          step(number) {}
    SendingWorld& world;
    const std::size_t process;
    const std::size_t step;
  };

  void take(std::size_t process, std::size_t step) {
    const std::vector<std::size_t>& to = program_.to[process];
    seen_[process] += static_cast<char>('a' + step);
    if (to[step] != process) {
      messages_.push_back(std::make_unique<Message>(*this, process, to[step]));
      world_.scheduler().schedule(*messages_.back(), StepKind::message, number_of(to[step]),
                                  1 + process * program_.to.size() + to[step], Duration::zero());
    }
    if (step + 1 < to.size()) {
      jobs_.push_back(std::make_unique<Taken>(*this, process, step + 1));
      world_.scheduler().post(number_of(process), *jobs_.back());
    }
  }
  static ProcessNumber number_of(std::size_t process) { return ProcessNumber(static_cast<std::uint32_t>(process + 1)); }

  const Sending& program_;
  std::vector<std::unique_ptr<Message>> messages_;
  std::vector<std::unique_ptr<Taken>> jobs_;
  World world_;
  std::vector<std::string> seen_;
  std::vector<Process*> processes_;
};

TEST(ExploreAll, ReachesWithReductionEveryEndThatThereIsWithoutItInRandomPrograms) {
  std::uint64_t compared = 0;
  std::uint64_t reduced_worlds = 0;
  std::uint64_t all_worlds = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    Random random(seed);
    const Sending program = random_sending(random);
    const auto ends_of = [&program](bool reduce, std::set<std::string>& ends) {
      return explore_all({.worlds = 4'000, .reduce = reduce},
                         [&](const WorldOptions& options) { return SendingWorld(program, options).run(ends); });
    };
    std::set<std::string> reduced;
    std::set<std::string> all;
    const Exhaustion naive = ends_of(false, all);
    if (!naive.complete) {
      continue;
    }
    const Exhaustion few = ends_of(true, reduced);
    ASSERT_TRUE(few.complete) << few.to_text();
    ASSERT_EQ(reduced, all) << "seed " << seed;
    ASSERT_LE(few.worlds, naive.worlds);
    ASSERT_GE(few.worlds, reduced.size());
    ++compared;
    reduced_worlds += few.worlds;
    all_worlds += naive.worlds;
  }
  EXPECT_GE(compared, 50U);
  EXPECT_LT(10 * reduced_worlds, all_worlds);
}

TEST(ExploreAll, EnumeratesOtherKindsWhereAsked) {
  const auto asks = [](const WorldOptions& options) {
    World world(options);
    world.start("asks", [&world](Process& process) -> std::unique_ptr<Program> {
      const std::uint64_t first = world.scheduler().choose(ChoiceKind::place, 3);
      const std::uint64_t second = world.scheduler().choose(ChoiceKind::cut, 4);
      process.exit(first == 2 && second == 3 ? 1 : 0);
      return nullptr;
    });
    return world.run();
  };
  const Exhaustion none = explore_all({}, asks);
  EXPECT_TRUE(none.complete);
  EXPECT_THAT(none.to_text(), AllOf(HasSubstr("1 questions of kind place were answered 0"), HasSubstr("of kind cut")));
  const Exhaustion one = explore_all({.kinds = {ChoiceKind::place}}, asks);
  EXPECT_EQ(one.worlds, 3U);
  const Exhaustion both = explore_all({.kinds = {ChoiceKind::place, ChoiceKind::cut}}, asks);
  ASSERT_TRUE(both.failure);
  EXPECT_EQ(both.worlds, 12U);
}

TEST(ExploreAll, RefusesAWorldThatIsNotDeterministic) {
  int worlds = 0;
  const auto changes = [&worlds](const WorldOptions& options) {
    ++worlds;
    World world(options);
    for (int number = 0; number < 2 + worlds % 2; ++number) {
      world.start("one", [](Process& process) -> std::unique_ptr<Program> {
        process.exit(0);
        return nullptr;
      });
    }
    return world.run();
  };
  try {
    static_cast<void>(explore_all({.reduce = false}, changes));
    FAIL() << "it was not noticed";
  } catch (const Error& error) {
    EXPECT_EQ(error.ferry_code(), errc::invalid_argument);
  }
}

}  // namespace
}  // namespace ferry::sim::test
