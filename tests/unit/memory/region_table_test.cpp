// RegionTable against a model, its failures by their own conditions, and its races.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include <ferry/memory/execute.hpp>
#include <ferry/memory/region_table.hpp>

namespace ferry {
namespace {

LocalRegion region_of(std::vector<std::byte>& memory, Access rights = Access::all) {
  LocalRegion region;
  region.base = memory.data();
  region.size = memory.size();
  region.rights = rights;
  return region;
}

TEST(RegionTable, GivesTheAddressOfAPieceInsideTheRegion) {
  RegionTable table(7);
  std::vector<std::byte> memory(100);
  const RegionHandle handle = table.insert(region_of(memory)).value();
  EXPECT_EQ(table.pin(handle, Access::read, 96, 4)->address(), memory.data() + 96);
  EXPECT_EQ(table.pin(handle, Access::all, 100, 0)->address(), memory.data() + 100);
  EXPECT_EQ(table.find(handle)->size, 100U);
  EXPECT_EQ(table.size(), 1U);
  EXPECT_TRUE(table.revoke(handle));
  table.release(handle);
  EXPECT_EQ(table.size(), 0U);
}

TEST(RegionTable, RefusesEachAccessForItsOwnReason) {
  RegionTable table(7);
  std::vector<std::byte> memory(100);
  const RegionHandle handle = table.insert(region_of(memory, Access::read | Access::atomic)).value();
  EXPECT_EQ(table.pin(handle, Access::write, 0, 1).error().to_text(),
            "access_denied: the region permits read|atomic, the operation needs write");
  EXPECT_EQ(table.pin(handle, Access::read, 97, 4).error().to_text(),
            "offset 97, length 4 of 100 bytes: invalid_range: the range does not lie inside the region");
  EXPECT_EQ(table.pin(handle, Access::read, 101, 0).error().code(), errc::invalid_range);
  EXPECT_EQ(table.pin(handle, Access::read, ~std::uint64_t{0} - 7, 16).error().code(), errc::invalid_range);
  EXPECT_EQ(table.pin(handle, Access::read, 0, ~std::uint64_t{0}).error().code(), errc::invalid_range);
  const std::string gone = "revoked: the owner revoked or released this memory; ask it for a new reference";
  EXPECT_EQ(table.pin({handle.slot, Generation(handle.generation.value() + 1)}, Access::read, 0, 1).error().to_text(),
            gone);
  EXPECT_EQ(table.pin({RegionSlot(), handle.generation}, Access::read, 0, 1).error().to_text(), gone);
  EXPECT_EQ(table.pin({RegionSlot(2), handle.generation}, Access::read, 0, 1).error().to_text(), gone);
  EXPECT_EQ(table.pin({RegionSlot(~0U), handle.generation}, Access::read, 0, 1).error().to_text(), gone);
  EXPECT_FALSE(table.try_pin(handle, Access::write, 0, 1));
  EXPECT_FALSE(table.try_pin(handle, Access::read, 97, 4));
  EXPECT_TRUE(table.revoke(handle));
  EXPECT_EQ(table.pin(handle, Access::read, 0, 1).error().to_text(), gone);
  EXPECT_EQ(table.find(handle).error().to_text(), gone);
  EXPECT_EQ(table.notify(handle, 1).error().to_text(), gone);
  EXPECT_FALSE(table.revoke(handle));
  table.release(handle);
  table.release(handle);  // once more does nothing
  EXPECT_FALSE(table.revoke(handle));
}

TEST(RegionTable, NeverGivesAnotherRegionForAHandleWhoseSlotIsReused) {
  RegionTable table(7);
  std::vector<std::byte> first(100);
  std::vector<std::byte> second(100);
  const RegionHandle old = table.insert(region_of(first)).value();
  table.revoke(old);
  table.release(old);
  const RegionHandle present = table.insert(region_of(second)).value();
  EXPECT_EQ(present.slot, old.slot);
  EXPECT_NE(present.generation, old.generation);
  EXPECT_EQ(table.pin(old, Access::read, 0, 1).error().code(), errc::revoked);
  EXPECT_FALSE(table.try_pin(old, Access::read, 0, 1));
  EXPECT_FALSE(table.revoke(old));
  table.set_notifications(old, nullptr);
  EXPECT_EQ(table.pin(present, Access::read, 0, 1)->address(), second.data());
  table.revoke(present);
  table.release(present);
}

struct Sink final : NotificationSink {
  bool on_notify(std::uint64_t tag) noexcept override {
    tags.push_back(tag);
    return tags.size() <= room;
  }
  std::size_t room = 2;
  std::vector<std::uint64_t> tags;
};

TEST(RegionTable, TellsNotificationsToTheRegionsSink) {
  RegionTable table(7);
  std::vector<std::byte> memory(8);
  const RegionHandle handle = table.insert(region_of(memory)).value();
  EXPECT_EQ(table.notify(handle, 1).error().to_text(),
            "unsupported: the owner takes no notifications for this buffer; it must register it with "
            "RegisterOptions::notifications, or call notifications() first (it may have taken effect)");
  Sink sink;
  table.set_notifications(handle, &sink);
  EXPECT_TRUE(table.notify(handle, 11));
  EXPECT_TRUE(table.notify(handle, 12));
  EXPECT_EQ(table.notify(handle, 13).error().to_text(),
            "overloaded: the owner has 4096 notifications of this buffer it has not taken; the bytes were written (it "
            "may have taken effect)");
  EXPECT_EQ(sink.tags, (std::vector<std::uint64_t>{11, 12, 13}));
  table.revoke(handle);
  table.release(handle);
}

// Everything that a table can be asked, against a map.
RC_GTEST_PROP(RegionTable, IsAMapOfLivingRegions, ()) {
  struct Known {
    RegionHandle handle{};
    std::uint64_t size = 0;
    Access rights = Access::none;
    enum { live, revoked, released } state = live;
  };
  RegionTable table(*rc::gen::arbitrary<std::uint64_t>());
  std::vector<std::byte> memory(64);
  std::vector<Known> all;
  std::size_t taken = 0;
  const auto steps = *rc::gen::container<std::vector<std::pair<int, std::uint64_t>>>(
      rc::gen::pair(rc::gen::inRange(0, 8), rc::gen::arbitrary<std::uint64_t>()));
  for (const auto& [what, number] : steps) {
    if (what < 2 || all.empty()) {
      Known known;
      known.size = number % 65;
      known.rights = static_cast<Access>(number / 65 % 8);
      LocalRegion region = region_of(memory, known.rights);
      region.size = known.size;
      known.handle = table.insert(region).value();
      all.push_back(known);
      ++taken;
      continue;
    }
    Known& known = all[number % all.size()];
    if (what == 2) {
      RC_ASSERT(table.revoke(known.handle) == (known.state == Known::live));
      known.state = known.state == Known::live ? Known::revoked : known.state;
    } else if (what == 3) {
      if (known.state != Known::live) {
        table.release(known.handle);
        taken -= known.state == Known::revoked ? 1 : 0;
        known.state = Known::released;
      }
    } else {
      const auto needed = static_cast<Access>(number / 7 % 8);
      const std::uint64_t offset = what == 4 ? number : number / 11 % 66;
      const std::uint64_t length = what == 5 ? number : number / 13 % 66;
      const auto pin = table.pin(known.handle, needed, offset, length);
      const bool fits = offset <= known.size && length <= known.size - offset;
      RC_ASSERT(static_cast<bool>(table.try_pin(known.handle, needed, offset, length)) == pin.has_value());
      if (known.state != Known::live) {
        RC_ASSERT(pin.error().code() == errc::revoked);
      } else if (!permits(known.rights, needed)) {
        RC_ASSERT(pin.error().code() == errc::access_denied);
      } else if (!fits) {
        RC_ASSERT(pin.error().code() == errc::invalid_range);
      } else {
        RC_ASSERT(pin->address() == memory.data() + offset);
      }
    }
    RC_ASSERT(table.size() == taken);
  }
}

TEST(RegionTable, HoldsAMillionRegionsAndThenNamesTheRemedy) {
  RegionTable table(7);
  std::vector<std::byte> memory(8);
  std::vector<RegionHandle> handles;
  handles.reserve(limits::kRegions);
  for (std::size_t index = 0; index < limits::kRegions; ++index) {
    handles.push_back(table.insert(region_of(memory)).value());
  }
  EXPECT_EQ(table.insert(region_of(memory)).error().to_text(),
            "resource_exhausted: all 1048576 regions of this process are registered; release buffers, or register "
            "larger ones and pass subranges");
  table.revoke(handles[77]);
  table.release(handles[77]);
  EXPECT_EQ(table.insert(region_of(memory))->slot, handles[77].slot);
}

// --- Races.

constexpr int kRounds = 2'000;

TEST(RegionTable, RevokeReturnsOnlyWhenNobodyTouchesTheMemory) {
  RegionTable table(7);
  std::vector<std::byte> memory(64);
  std::atomic<std::uint64_t> slot{0};
  std::atomic<std::uint64_t> generation{0};
  std::atomic<bool> done{false};
  std::atomic<int> inside{0};
  std::atomic<bool> forbidden{false};
  std::atomic<bool> violated{false};
  std::vector<std::thread> readers;
  for (int reader = 0; reader < 2; ++reader) {
    readers.emplace_back([&] {
      while (!done.load()) {
        const RegionHandle handle{RegionSlot(static_cast<std::uint32_t>(slot.load())), Generation(generation.load())};
        if (const auto pin = table.pin(handle, Access::read, 0, 64)) {
          inside.fetch_add(1);
          violated = violated.load() || forbidden.load();
          static_cast<void>(*static_cast<volatile const std::byte*>(pin->address()));
          inside.fetch_sub(1);
        } else {
          std::this_thread::yield();  // a busy machine would give the owner few turns otherwise
        }
      }
    });
  }
  for (int round = 0; round < kRounds; ++round) {
    const RegionHandle handle = table.insert(region_of(memory)).value();
    forbidden.store(false);
    slot.store(handle.slot.value());
    generation.store(handle.generation.value());
    for (int spin = 0; spin < round % 8; ++spin) {
      std::this_thread::yield();
    }
    ASSERT_TRUE(table.revoke(handle));
    EXPECT_EQ(inside.load(), 0);
    forbidden.store(true);
    memory[0] = static_cast<std::byte>(round);  // ours alone now: ThreadSanitizer would see a reader
    table.release(handle);
  }
  done.store(true);
  for (std::thread& reader : readers) {
    reader.join();
  }
  EXPECT_FALSE(violated.load());
}

TEST(RegionTable, ARegionIsRevokedByOneOfManyWhoTryAndAnotherInItsSlotByNone) {
  RegionTable table(7);
  std::vector<std::byte> memory(64);
  for (int round = 0; round < kRounds / 10; ++round) {
    const RegionHandle handle = table.insert(region_of(memory)).value();
    std::atomic<int> won{0};
    RegionHandle other{};
    const auto attempt = [&] {
      if (table.revoke(handle)) {
        ++won;
        table.release(handle);
        other = table.insert(region_of(memory)).value();
      }
    };
    std::thread one(attempt);
    std::thread two(attempt);
    one.join();
    two.join();
    EXPECT_EQ(won.load(), 1);
    EXPECT_TRUE(table.pin(other, Access::read, 0, 1));
    table.revoke(other);
    table.release(other);
  }
}

TEST(RegionTable, RevokeEndsThoughOthersHammerOnStaleReferences) {
  RegionTable table(7);
  std::vector<std::byte> memory(64);
  for (int round = 0; round < 20; ++round) {
    const RegionHandle handle = table.insert(region_of(memory)).value();
    std::atomic<bool> done{false};
    std::vector<std::thread> hammers;
    for (int hammer = 0; hammer < 3; ++hammer) {
      hammers.emplace_back([&] {
        while (!done.load(std::memory_order_relaxed)) {
          static_cast<void>(table.try_pin(handle, Access::read, 0, 64));
        }
      });
    }
    EXPECT_TRUE(table.revoke(handle));
    done.store(true);
    for (std::thread& hammer : hammers) {
      hammer.join();
    }
    table.release(handle);
  }
}

}  // namespace
}  // namespace ferry
