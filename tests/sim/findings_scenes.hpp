// Programs with and without a mistake: who lends memory, and who uses it. Test code of findings_test.cpp alone.
#pragma once

#include <algorithm>
#include <array>

#include <ferry/base/as_result.hpp>
#include <ferry/buffer/batch.hpp>
#include <ferry/buffer/sequence.hpp>
#include <ferry/transport/inbound.hpp>

#include "task_program.hpp"

namespace ferry::sim::test {

using Words = std::array<std::uint64_t, 32>;

enum class Mistake { none, made };

struct Ignoring final : MessageSink {
  void on_request(const std::shared_ptr<Inbound>&, wire::Bytes&&) noexcept override {}
  void on_inbound_closed(const std::shared_ptr<Inbound>&, const Failure&) noexcept override {}
};

struct Shared {
  Board board;
  Ignoring sink;
  bool stop = false;
  World* world = nullptr;
};

using Part = Task<void> (*)(Island&, Shared&, Mistake);

// The world of a mistake: an owner, and who uses its memory.
struct Scene {
  const char* name;
  FindingKind kind;
  Part owner;
  Part writer;
  Part other = nullptr;
};

inline WorldResult play(const Scene& scene, Mistake mistake, const WorldOptions& options) {
  Shared shared;
  World world(options);
  shared.world = &world;
  const auto add = [&](const char* name, Part part) {
    world.start(name, run_task([&shared, part, mistake](Island& island) { return part(island, shared, mistake); }));
  };
  add("owner", scene.owner);
  add("user", scene.writer);
  if (scene.other != nullptr) {
    add("other", scene.other);
  }
  return world.run();
}

// The memory of most scenes: 32 words and a flag, until somebody says that all is over.
inline Task<void> lend(Island& island, Shared& shared, Mistake) {
  island.node().set_sink(shared.sink);
  Words words{};
  alignas(8) std::uint64_t flag = 0;
  RDMABuffer data = register_memory(island.node(), std::span(words));
  RDMABuffer word = register_memory(island.node(), std::span(&flag, 1));
  shared.board.post("data", island, data);
  shared.board.post("flag", island, word);
  while (!shared.stop) {
    co_await sleep_for(10us);
  }
  co_await sleep_for(10ms);
}

// A channel is there afterwards.
inline Task<BufferRef> reach(Island& island, Shared& shared, std::string name) {
  BufferRef ref = co_await wait_for(shared.board, std::move(name), island);
  std::uint64_t word = 0;
  co_await ref.subrange(0, 8).read_into(std::span(&word, 1));
  co_return ref;
}

// --- Read race: the owner counts in its memory while it is read.

inline Task<void> count(Island& island, Shared& shared, Mistake mistake) {
  Words words{};
  RDMABuffer data = register_memory(island.node(), std::span(words));
  shared.board.post("data", island, data);
  while (!shared.stop) {
    co_await sleep_for(3us);
    if (mistake == Mistake::made) {
      ++words[3];
    }
  }
  ++words[3];
  co_await sleep_for(10ms);
}

inline Task<void> read_some(Island& island, Shared& shared, Mistake) {
  BufferRef data = co_await reach(island, shared, "data");
  Words words{};
  for (int i = 0; i < 5; ++i) {
    co_await data.read_into(std::span(words));
  }
  shared.stop = true;
}

// --- Unordered writes: of one process, and of two.

inline Task<void> write_twice(Island& island, Shared& shared, Mistake mistake) {
  BufferRef data = co_await reach(island, shared, "data");
  Words first{};
  Words second{};
  second.fill(2);
  const BufferRef upper = data.subrange(128, 128);
  auto one = start(data.write_from(std::span(first)));
  if (mistake == Mistake::none) {
    co_await one;
  }
  auto two = start(upper.write_from(std::span(second).first(16)));
  if (mistake == Mistake::made) {
    co_await one;
  }
  co_await two;
  shared.stop = true;
}

inline Task<void> write_in_turn(Island& island, Shared& shared, Mistake mistake) {
  BufferRef data = co_await reach(island, shared, "data");
  Words words{};
  const WriteOptions options{.completion = transmitted};
  co_await data.write_from(std::span(words), options);
  if (mistake == Mistake::none) {
    co_await data.flush();
  }
  shared.board.numbers["turn"] = 1;
  while (!shared.stop) {
    co_await sleep_for(10us);
  }
}

inline Task<void> write_in_other_turn(Island& island, Shared& shared, Mistake) {
  BufferRef data = co_await reach(island, shared, "data");
  while (!shared.board.numbers.contains("turn")) {
    co_await sleep_for(500ns);
  }
  Words words{};
  co_await data.write_from(std::span(words));
  shared.stop = true;
}

// --- Local buffer: the source of a write, the destination of a read, and one buffer for two reads.

inline Task<void> reuse_source(Island& island, Shared& shared, Mistake mistake) {
  BufferRef data = co_await reach(island, shared, "data");
  Words words{};
  auto write = start(data.write_from(std::span(words)));
  if (mistake == Mistake::made) {
    words[1] = 7;
  }
  co_await write;
  words[1] = 7;
  co_await data.write_from(std::span(words));
  shared.stop = true;
}

inline Task<void> touch_destination(Island& island, Shared& shared, Mistake mistake) {
  BufferRef data = co_await reach(island, shared, "data");
  Words words{};
  words.fill(1);
  auto read = start(data.read_into(std::span(words)));
  if (mistake == Mistake::made) {
    co_await sleep_for(1us);
    words[2] = 9;
  }
  co_await read;
  words[2] = 9;
  shared.stop = true;
}

inline Task<void> read_twice_to_one_place(Island& island, Shared& shared, Mistake mistake) {
  BufferRef data = co_await reach(island, shared, "data");
  Words words{};
  Words more{};
  auto first = start(data.read_into(std::span(words)));
  auto second = start(data.read_into(std::span(mistake == Mistake::made ? words : more)));
  co_await first;
  co_await second;
  shared.stop = true;
}

// A buffer on the heap is freed, and what the heap writes into it is seen.
inline Task<void> free_source(Island& island, Shared& shared, Mistake mistake) {
  BufferRef data = co_await reach(island, shared, "data");
  auto words = std::make_unique<Words>();
  words->fill(0x0101010101010101U);
  auto write = start(data.write_from(std::span(*words)));
  if (mistake == Mistake::made) {
    std::fill_n(words->begin(), 2, 0);  // as free() does, without reading what is freed
  }
  co_await write;
  shared.stop = true;
}

// The source is memory that a peer writes to.
inline Task<void> write_from_lent_memory(Island& island, Shared& shared, Mistake) {
  BufferRef data = co_await reach(island, shared, "data");
  Words words{};
  RDMABuffer mine = register_memory(island.node(), std::span(words));
  shared.board.post("mine", island, mine);
  for (int i = 0; i < 20; ++i) {
    co_await data.write_from(std::span(words));
  }
  shared.board.numbers["turn"] = 1;
  while (!shared.stop) {
    co_await sleep_for(10us);
  }
  co_await sleep_for(10ms);
}

inline Task<void> write_to_a_source(Island& island, Shared& shared, Mistake mistake) {
  BufferRef mine = co_await reach(island, shared, "mine");
  while (mistake == Mistake::none && !shared.board.numbers.contains("turn")) {
    co_await sleep_for(10us);
  }
  Words words{};
  words.fill(6);
  for (int i = 0; i < 5; ++i) {
    co_await mine.write_from(std::span(words));
  }
  shared.stop = true;
}

// --- Use after revoke.

inline Task<void> lend_for_a_while(Island& island, Shared& shared, Mistake mistake) {
  Words words{};
  RDMABuffer data = register_memory(island.node(), std::span(words));
  shared.board.post("data", island, data);
  while (shared.board.numbers["used"] == 0 || (mistake == Mistake::none && !shared.stop)) {
    co_await sleep_for(10us);
  }
  co_await data.revoke();
  words.fill(1);
  while (!shared.stop) {
    co_await sleep_for(10us);
  }
  co_await sleep_for(10ms);
}

inline Task<void> use_again(Island& island, Shared& shared, Mistake mistake) {
  BufferRef data = co_await reach(island, shared, "data");
  Words words{};
  co_await data.read_into(std::span(words));
  shared.board.numbers["used"] = 1;
  co_await sleep_for(200us);
  std::string failed;
  try {
    co_await data.read_into(std::span(words));
  } catch (const Error& error) {
    failed = error.what();
  }
  require(failed.empty() == (mistake == Mistake::none), "the second use: " + failed);
  shared.stop = true;
}

// The reference of somebody who has gone.
inline Task<void> lend_and_go(Island& island, Shared& shared, Mistake mistake) {
  Words words{};
  RDMABuffer data = register_memory(island.node(), std::span(words));
  shared.board.post("data", island, data);
  while (mistake == Mistake::none && !shared.stop) {
    co_await sleep_for(10us);
  }
  co_await sleep_for(10us);
}

inline Task<void> use_late(Island& island, Shared& shared, Mistake mistake) {
  BufferRef data = co_await wait_for(shared.board, "data", island);
  co_await sleep_for(200us);
  Words words{};
  std::string failed;
  try {
    co_await data.read_into(std::span(words));
  } catch (const Error& error) {
    failed = error.what();
  }
  require(failed.empty() == (mistake == Mistake::none), "the late use: " + failed);
  shared.stop = true;
}

// --- Missing delivery: a flag, or a message, before the bytes.

inline Task<void> publish_transmitted(Island& island, Shared& shared, Mistake mistake) {
  BufferRef data = co_await reach(island, shared, "data");
  BufferRef flag = co_await reach(island, shared, "flag");
  Words words{};
  const WriteOptions options{.completion = transmitted};
  co_await data.write_from(std::span(words), options);
  if (mistake == Mistake::none) {
    co_await data.flush();
  }
  std::uint64_t one = 1;
  co_await flag.write_from(std::span(&one, 1));
  shared.stop = true;
}

inline Task<void> publish_not_awaited(Island& island, Shared& shared, Mistake mistake) {
  BufferRef data = co_await reach(island, shared, "data");
  BufferRef flag = co_await reach(island, shared, "flag");
  Words words{};
  std::uint64_t one = 1;
  if (mistake == Mistake::made) {
    auto first = start(data.write_from(std::span(words)));
    auto second = start(flag.write_from(std::span(&one, 1)));
    co_await first;
    co_await second;
  } else {
    Sequence sequence;
    sequence.add(data.write_from(std::span(words)));
    sequence.add(flag.write_from(std::span(&one, 1)));
    auto run = sequence.run();
    const Outcomes outcomes = co_await run;
    require(outcomes.all_succeeded(), "a member of the sequence failed");
  }
  shared.stop = true;
}

// Raw, as the actor runtime sends: a request of kind 2.
inline Task<void> tell(Island& island, Shared& shared, Mistake mistake) {
  BufferRef data = co_await reach(island, shared, "data");
  Words words{};
  const WriteOptions options{.completion = transmitted};
  co_await data.write_from(std::span(words), options);
  if (mistake == Mistake::none) {
    co_await data.flush();
  }
  wire::Bytes message;
  std::fill_n(wire::extend(message, 32), 32, std::byte{0});
  message.data()[0] = std::byte{2};
  Peer& peer = island.node().peers().find_or_add(shared.board.references.at("data").owner);
  require(!peer.send(std::move(message)), "the owner is gone already");
  co_await sleep_for(100us);
  shared.stop = true;
}

inline const std::array kScenes{
    Scene{"the owner counts while it is read", FindingKind::read_race, count, read_some},
    Scene{"two writes of one process", FindingKind::unordered_writes, lend, write_twice},
    Scene{"writes of two processes", FindingKind::unordered_writes, lend, write_in_turn, write_in_other_turn},
    Scene{"the source is reused", FindingKind::local_buffer, lend, reuse_source},
    Scene{"the destination is touched", FindingKind::local_buffer, lend, touch_destination},
    Scene{"two reads into one buffer", FindingKind::local_buffer, lend, read_twice_to_one_place},
    Scene{"the source is freed", FindingKind::local_buffer, lend, free_source},
    Scene{"a peer writes to the source", FindingKind::local_buffer, lend, write_from_lent_memory, write_to_a_source},
    Scene{"used after it was revoked", FindingKind::use_after_revoke, lend_for_a_while, use_again},
    Scene{"used after its owner's life", FindingKind::use_after_revoke, lend_and_go, use_late},
    Scene{"a flag behind a transmitted write", FindingKind::missing_delivery, lend, publish_transmitted},
    Scene{"a flag behind a write that is not awaited", FindingKind::missing_delivery, lend, publish_not_awaited},
    Scene{"a message behind a transmitted write", FindingKind::missing_delivery, lend, tell},
};

}  // namespace ferry::sim::test
