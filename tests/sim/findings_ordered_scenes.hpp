// Programs whose accesses are ordered by a flag, a tag or a timeout, while completions are still under way. Test code
// of findings_test.cpp alone.
#pragma once

#include "findings_scenes.hpp"

namespace ferry::sim::test {

// The owner sees the flag, or gets the tag, before the writer has its completion, and lets somebody else write; the
// first writer's bytes are changed by its own CPU too.
inline Task<void> take_and_pass_on(Island& island, Shared& shared, bool is_notified) {
  Words words{};
  alignas(8) std::uint64_t flag = 0;
  RDMABuffer data = register_memory(island.node(), std::span(words));
  RDMABuffer word = register_memory(island.node(), std::span(&flag, 1));
  auto notifications = data.notifications();
  shared.board.post("data", island, data);
  shared.board.post("flag", island, word);
  if (is_notified) {
    auto next = notifications.next();
    co_await next;
  }
  while (!is_notified && flag == 0) {
    co_await sleep_for(500ns);
  }
  words.fill(3);
  shared.board.numbers["turn"] = 1;
  while (!shared.stop) {
    co_await sleep_for(10us);
  }
  co_await sleep_for(10ms);
}

inline Task<void> take_behind_flag(Island& island, Shared& shared, Mistake) {
  return take_and_pass_on(island, shared, false);
}
inline Task<void> take_behind_tag(Island& island, Shared& shared, Mistake) {
  return take_and_pass_on(island, shared, true);
}

inline Task<void> write_then_flag(Island& island, Shared& shared, Mistake) {
  BufferRef data = co_await reach(island, shared, "data");
  BufferRef flag = co_await reach(island, shared, "flag");
  Words words{};
  std::uint64_t one = 1;
  Sequence sequence;
  sequence.add(data.write_from(std::span(words)));
  sequence.add(flag.write_from(std::span(&one, 1)));
  auto run = sequence.run();
  const Outcomes outcomes = co_await run;
  require(outcomes.all_succeeded(), "a member of the sequence failed");
  words.fill(4);
  while (!shared.stop) {
    co_await sleep_for(10us);
  }
}

inline Task<void> read_then_flag(Island& island, Shared& shared, Mistake) {
  BufferRef data = co_await reach(island, shared, "data");
  BufferRef flag = co_await reach(island, shared, "flag");
  Words words{};
  std::uint64_t one = 1;
  Sequence sequence;
  sequence.add(data.read_into(std::span(words)));
  sequence.add(flag.write_from(std::span(&one, 1)));
  auto run = sequence.run();
  const Outcomes outcomes = co_await run;
  require(outcomes.all_succeeded(), "a member of the sequence failed");
  words.fill(4);
  while (!shared.stop) {
    co_await sleep_for(10us);
  }
}

inline Task<void> write_with_tag(Island& island, Shared& shared, Mistake) {
  BufferRef data = co_await reach(island, shared, "data");
  Words words{};
  const WriteOptions options{.notify = 5};
  co_await data.write_from(std::span(words), options);
  words.fill(4);
  while (!shared.stop) {
    co_await sleep_for(10us);
  }
}

// After a timeout local memory is quiet.
inline Task<void> give_up_and_reuse(Island& island, Shared& shared, Mistake) {
  BufferRef data = co_await reach(island, shared, "data");
  Words words{};
  for (int i = 0; i < 4; ++i) {
    const Limits limits{.timeout = 3us};
    auto attempt = as_result(data.read_into(std::span(words), limits));
    static_cast<void>(co_await attempt);
    words.fill(static_cast<std::uint64_t>(i));
  }
  shared.stop = true;
}

inline const std::array kOrdered{
    Scene{"a sequence and a flag", FindingKind::unordered_writes, take_behind_flag, write_then_flag,
          write_in_other_turn},
    Scene{"a notification", FindingKind::unordered_writes, take_behind_tag, write_with_tag, write_in_other_turn},
    Scene{"a sequence of a read and a flag", FindingKind::read_race, take_behind_flag, read_then_flag,
          write_in_other_turn},
    Scene{"a timeout", FindingKind::local_buffer, lend, give_up_and_reuse},
};

}  // namespace ferry::sim::test
