// The reliability rows: what a reliable connection does to requests whose packets get lost, doubled or refused. Rows
// that say "must be able to show" are shown within a fixed number of seeds; rows that say "never" are never shown,
// under loss, duplicates and delays.
#include "nic_rig.hpp"

namespace ferry::sim::test {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::EndsWith;
using testing::Not;
using testing::UnorderedElementsAre;

constexpr std::uint64_t kSeeds = 3000;

// Words of both hosts.
constexpr std::size_t x = 0;
constexpr std::size_t y = 1;
constexpr std::size_t flag = 2;

FabricOptions lossy() {
  FabricOptions options;
  options.drop_one_in = 4;
  options.duplicate_one_in = 5;
  options.delay_one_in = 5;
  options.acknowledgement = std::chrono::microseconds(80);
  options.retries = 20;
  return options;
}
FabricOptions lossy_and_soon_given_up() {
  FabricOptions options = lossy();
  options.retries = 1;
  return options;
}
FabricOptions of(std::string_view profile) {
  FabricOptions options;
  options.profile = nic_profile(profile);
  return options;
}

std::string text(std::initializer_list<std::uint64_t> values) {
  std::string out;
  for (const std::uint64_t value : values) {
    out += (out.empty() ? "" : " ") + std::to_string(value);
  }
  return out;
}

// E01
TEST(Reliability, AWriteThatIsSentAgainIsNotExecutedAgain) {
  const auto seen = outcomes(lossy(), kSeeds, [](NicRig& rig) {
    rig.a().words[x] = 1;
    rig.when([&] { return rig.b().words[x] == 1; }, [&] { rig.b().words[x] = 2; });
    rig.post("q", rig.put(x, x));
    rig.run();
    return rig.from("q").statuses().at(0) + " " + text({rig.b().words[x]});
  });
  EXPECT_THAT(seen, Contains("success 2"));
  EXPECT_THAT(seen, Not(Contains("success 1")));
}

// E02
TEST(Reliability, AWriteThatTheProgramPostsAgainMayOverwriteWhatCameBetween) {
  const auto seen = outcomes(lossy_and_soon_given_up(), kSeeds, [](NicRig& rig) {
    rig.a().words[x] = 1;
    rig.when([&] { return rig.b().words[x] == 1; }, [&] { rig.b().words[x] = 2; });
    rig.from("q").then = [&](const queue::WorkCompletion& completion) {
      if (completion.status != queue::WorkStatus::success) {
        rig.post("p", rig.put(x, x));
      }
    };
    rig.post("q", rig.put(x, x));
    rig.run();
    return text({rig.b().words[x]});
  });
  EXPECT_THAT(seen, Contains("1"));
}

// E03
TEST(Reliability, AReadThatIsSentAgainReadsAgain) {
  const auto seen = outcomes(lossy(), kSeeds, [](NicRig& rig) {
    rig.b().words[x] = 1;
    // The owner changes the word once the first response is on its way.
    rig.when([&] { return rig.network.scheduler().steps() >= 3; }, [&] { rig.b().words[x] = 2; });
    rig.post("q", rig.get(x, x));
    rig.run();
    return text({rig.a().words[x]});
  });
  EXPECT_THAT(seen, Contains("2"));
  EXPECT_THAT(seen, Contains("1"));
}

std::string name_of(queue::Acceptance acceptance) {
  constexpr std::string_view kNames[] = {"unknown", "none", "part", "whole"};
  return std::string(kNames[static_cast<std::size_t>(acceptance)]);
}

// What the end of queue q at the owner tells the other one of these requests, which are over.
std::string accepted(NicRig& rig, std::initializer_list<std::uint64_t> ids) {
  rig.from("q")->stop();
  rig.to("q")->stop();
  const auto progress = rig.to("q")->progress();
  std::string out;
  for (const std::uint64_t id : ids) {
    out += " " + (progress ? name_of(rig.from("q")->acceptance(id, *progress)) : "untold");
  }
  return out;
}

// E03, and then its key is dead: a refusal does not say that what is behind it was not executed.
TEST(Reliability, AReadThatIsSentAgainMayBeRefusedThoughWhatIsBehindItWasExecuted) {
  const auto seen = outcomes(lossy(), kSeeds, [](NicRig& rig) {
    rig.a().words[y] = 1;
    const std::uint32_t key = rig.b().add_key(&rig.b().words[x], 8);
    rig.when([&] { return rig.b().words[y] == 1; }, [&rig, key] { rig.b().revoke(key); });
    queue::WorkRequest get = rig.get(x, x);
    get.remote = {key, 0};
    get.id = 1;
    queue::WorkRequest put = rig.put(y, y);
    put.id = 2;
    rig.post("q", get);
    rig.post("q", put);
    rig.run();
    return rig.from("q").statuses().at(0) + ", " + rig.from("q").statuses().at(1) + ", " + text({rig.b().words[y]}) +
           accepted(rig, {1, 2});
  });
  EXPECT_THAT(seen, Contains("success, success, 1 whole whole"));
  EXPECT_THAT(seen, Contains("refused by the other end, flushed, 1 whole whole"));
  EXPECT_THAT(seen, Each(EndsWith(", 1 whole whole")));
}

// E08, and the owner is asked.
TEST(Reliability, TheOwnersEndTellsWhatWasAcceptedOfWhatFailed) {
  FabricOptions options = lossy_and_soon_given_up();
  options.mtu = 8;
  const auto seen = outcomes(options, kSeeds, [](NicRig& rig) {
    rig.a().words[x] = rig.a().words[y] = 1;
    queue::WorkRequest put = rig.put(x, x, 2);
    put.id = 1;
    rig.post("q", put);
    rig.run();
    const std::string told = accepted(rig, {1});
    return rig.from("q").statuses().at(0) + ", " + text({rig.b().words[x], rig.b().words[y]}) + told;
  });
  EXPECT_THAT(seen, UnorderedElementsAre("success, 1 1 whole", "not acknowledged by the other end, 0 0 none",
                                         "not acknowledged by the other end, 1 0 part",
                                         "not acknowledged by the other end, 1 1 whole"));
}

TEST(Reliability, NicsThatDoNotTellProgressSaySo) {
  FabricOptions options;
  options.tells_progress = false;
  for (const FabricOptions& each : {options, of("iwarp"), of("srd")}) {
    const auto seen = outcomes(each, 1, [](NicRig& rig) {
      rig.post("q", rig.put(x, x));
      rig.run();
      return accepted(rig, {0});
    });
    EXPECT_THAT(seen, ElementsAre(" untold"));
  }
}

// E05
TEST(Reliability, AnAtomicIsExecutedOnceAndItsResultKept) {
  const auto seen = outcomes(lossy(), kSeeds, [](NicRig& rig) {
    rig.a().words[y] = 7;
    rig.post("q", rig.fetch_add(y, x, 1));
    rig.run();
    return rig.from("q").statuses().at(0) + " " + text({rig.b().words[x], rig.a().words[y]});
  });
  EXPECT_THAT(seen, ElementsAre("success 1 0"));
}

// E07
TEST(Reliability, ALongWriteMayHaveLandedInPartWhenItFails) {
  FabricOptions options = lossy_and_soon_given_up();
  options.mtu = 8;
  const auto seen = outcomes(options, kSeeds, [](NicRig& rig) {
    rig.a().words[x] = rig.a().words[x + 1] = rig.a().words[x + 2] = 1;
    rig.post("q", rig.put(x, x, 3));
    rig.run();
    return rig.from("q").statuses().at(0) + " " + text({rig.b().words[x], rig.b().words[x + 1], rig.b().words[x + 2]});
  });
  EXPECT_THAT(seen, Contains("not acknowledged by the other end 1 1 0"));
  EXPECT_THAT(seen, Contains("success 1 1 1"));
  // Packets are accepted in order.
  EXPECT_THAT(seen, Not(Contains("not acknowledged by the other end 0 1 1")));
  EXPECT_THAT(seen, Not(Contains("success 1 1 0")));
}

// E08
TEST(Reliability, AnErrorDoesNotSayThatNothingWasExecuted) {
  const auto seen = outcomes(lossy_and_soon_given_up(), kSeeds, [](NicRig& rig) {
    rig.a().words[x] = 1;
    rig.post("q", rig.put(x, x));
    rig.run();
    return rig.from("q").statuses().at(0) + " " + text({rig.b().words[x]});
  });
  EXPECT_THAT(seen, Contains("not acknowledged by the other end 1"));
  EXPECT_THAT(seen, Contains("not acknowledged by the other end 0"));
}

// E10, E13
TEST(Reliability, NothingBehindARefusedRequestIsExecutedOrSucceeds) {
  for (const auto profile : {"strict", "portable", "relaxed", "unordered"}) {
    FabricOptions options = lossy();
    options.profile = nic_profile(profile);
    const auto seen = outcomes(options, kSeeds / 4, [](NicRig& rig) {
      rig.a().words[x] = 1;
      queue::WorkRequest refused = rig.put(x, x);
      refused.remote.key = 77;
      rig.post("q", refused);
      rig.post("q", rig.put(y, x));
      rig.run();
      return rig.from("q").statuses().at(0) + ", " + rig.from("q").statuses().at(1) + " " + text({rig.b().words[y]});
    });
    // The refusal itself may get lost; then nobody says why.
    EXPECT_THAT(seen, testing::IsSubsetOf(
                          {"refused by the other end, flushed 0", "not acknowledged by the other end, flushed 0"}))
        << profile;
    EXPECT_THAT(seen, Contains("refused by the other end, flushed 0")) << profile;
  }
}

// E11
TEST(Reliability, ARefusalOnOneQueuePairLeavesAnotherAlone) {
  const auto seen = outcomes({}, 200, [](NicRig& rig) {
    rig.a().words[x] = 1;
    queue::WorkRequest refused = rig.put(x, x);
    refused.remote.key = 77;
    rig.post("q", refused);
    rig.post("p", rig.put(y, x));
    rig.run();
    return rig.from("p").statuses().at(0) + " " + text({rig.b().words[y]});
  });
  EXPECT_THAT(seen, ElementsAre("success 1"));
}

TEST(Reliability, WhatCameBeforeARefusedRequestSucceedsWithItsBytes) {
  const auto seen = outcomes({}, 500, [](NicRig& rig) {
    rig.a().words[x] = 1;
    rig.b().words[flag] = 5;
    rig.post("q", rig.put(x, x));
    rig.post("q", rig.get(y, flag));
    queue::WorkRequest refused = rig.get(flag, x);
    refused.remote.address = sizeof rig.b().words;
    rig.post("q", refused);
    rig.run();
    return testing::PrintToString(rig.from("q").statuses()) + text({rig.b().words[x], rig.a().words[y]});
  });
  EXPECT_THAT(seen, ElementsAre("{ \"success\", \"success\", \"refused by the other end\" }1 5"));
}

// E14
TEST(Reliability, ASendThatFindsNoReceiveIsDeliveredOnceWhenThereIsOne) {
  const auto seen = outcomes(lossy(), kSeeds, [](NicRig& rig) {
    rig.a().words[x] = 9;
    rig.post("q", rig.send(x));
    rig.when([&] { return rig.network.scheduler().steps() >= 6; },
             [&] {
               rig.to("q")->post_receive(1, rig.b().at(x), 8, 0).value();
               rig.to("q")->post_receive(2, rig.b().at(y), 8, 0).value();
             });
    rig.run();
    return rig.from("q").statuses().at(0) + " " +
           text({rig.to("q").received.size(), rig.b().words[x], rig.b().words[y]});
  });
  EXPECT_THAT(seen, ElementsAre("success 1 9 0"));
}

TEST(Reliability, ASendThatNeverFindsAReceiveFailsWhereRetriesEnd) {
  NicRig rig({}, 1);
  rig.connect("q", rig.a(), rig.b(), {.endless_rnr_retry = false});
  rig.post("q", rig.send(x));
  rig.post("q", rig.put(x, x));
  rig.run();
  EXPECT_THAT(rig.from("q").statuses(), ElementsAre("no receive posted at the other end", "flushed"));
}

// E16
TEST(Reliability, BytesMayBeThereWhileTheirImmediateWaitsForAReceive) {
  FabricOptions options;
  options.mtu = 8;
  bool prefix_alone = false;
  for (std::uint64_t seed = 0; seed < 200 && !prefix_alone; ++seed) {
    NicRig rig(options, seed);
    rig.a().words[x] = rig.a().words[y] = 1;
    queue::WorkRequest put = rig.put(x, x, 2);
    put.has_immediate = true;
    put.immediate = 4;
    rig.post("q", put);
    rig.when([&] { return rig.b().words[x] == 1 && rig.b().words[y] == 0; },
             [&] {
               prefix_alone = true;
               rig.to("q")->post_receive(1, nullptr, 0, 0).value();
             });
    rig.when([&] { return rig.scheduler.now() > TimePoint(std::chrono::milliseconds(20)); },
             [&] { rig.to("q")->post_receive(2, nullptr, 0, 0).value(); });
    rig.run();
    if (prefix_alone) {
      EXPECT_EQ(rig.to("q").received.size(), 1U);
      EXPECT_EQ(rig.to("q").received.at(0).immediate, 4U);
      EXPECT_EQ(rig.b().words[y], 1U);
    }
    break;
  }
  EXPECT_TRUE(prefix_alone);
}

// E17
TEST(Reliability, AWriteAgainstAnInvalidationEitherHappensOrFails) {
  const auto seen = outcomes({}, kSeeds, [](NicRig& rig) {
    rig.a().words[x] = 1;
    const std::uint32_t key = rig.b().add_key(&rig.b().words[x], 8);
    queue::WorkRequest put = rig.put(x, x);
    put.remote = {key, 0};
    std::optional<std::uint64_t> at_revocation;
    const std::uint64_t step = 1 + rig.network.scheduler().choose(ChoiceKind::remains, 6);
    rig.when([&rig, step] { return rig.scheduler.steps() >= step; },
             [&] {
               rig.b().revoke(key);
               at_revocation = rig.b().words[x];
             });
    rig.post("q", put);
    rig.run();
    if (at_revocation) {
      EXPECT_EQ(rig.b().words[x], *at_revocation) << "the memory changed after it was revoked";
    }
    return rig.from("q").statuses().at(0) + " " + text({rig.b().words[x]});
  });
  EXPECT_THAT(seen, ElementsAre("refused by the other end 0", "success 1"));
}

// E19
TEST(Reliability, AKeyThatASendInvalidatesIsDeadBeforeItsReceiveIsSeen) {
  const auto seen = outcomes(lossy(), kSeeds, [](NicRig& rig) {
    rig.a().words[x] = 1;
    const std::uint32_t key = rig.b().add_key(&rig.b().words[y], 8);
    rig.to("q")->post_receive(1, rig.b().at(flag), 8, 0).value();
    queue::WorkRequest send = rig.send(x);
    send.invalidates = key;
    rig.to("q").then = [&rig, key](const queue::WorkCompletion&) {
      queue::WorkRequest put = rig.put(y, x);
      put.remote = {key, 0};
      rig.post("p", put);
    };
    rig.post("q", send);
    rig.run();
    return rig.from("p").statuses().at(0) + " " + text({rig.b().words[y]});
  });
  EXPECT_THAT(seen, Not(Contains(testing::HasSubstr("success"))));
  EXPECT_THAT(seen, Not(Contains(testing::HasSubstr(" 1"))));
  EXPECT_FALSE(seen.empty());
}

// E22
TEST(Reliability, AKeyOfAFormerLifeReachesNothing) {
  const auto seen = outcomes(
      {}, 200,
      [](NicRig& rig) {
        rig.a().words[x] = 1;
        rig.b().kill();
        Host& again = *rig.hosts[2];  // the next life: keys of its own
        rig.connect("q", rig.a(), again);
        rig.post("q", rig.put(x, x));
        rig.run();
        return rig.from("q").statuses().at(0) + " " + text({again.words[x]});
      },
      3);
  EXPECT_THAT(seen, ElementsAre("refused by the other end 0"));
}

// E23
TEST(Reliability, AWriteMayLandAfterItsInitiatorWasToldThatItFailed) {
  FabricOptions options;
  options.acknowledgement = std::chrono::microseconds(3);
  options.retries = 1;
  options.delay_one_in = 2;
  const auto seen = outcomes(options, kSeeds, [](NicRig& rig) {
    rig.a().words[x] = 1;
    std::uint64_t at_error = 9;
    rig.from("q").then = [&](const queue::WorkCompletion& completion) {
      if (completion.status != queue::WorkStatus::success) {
        at_error = rig.b().words[x];
      }
    };
    rig.post("q", rig.put(x, x));
    rig.run();
    return text({at_error, rig.b().words[x]});
  });
  EXPECT_THAT(seen, Contains("0 1"));
}

TEST(Reliability, NothingLandsOnceTheOwnerHasStoppedItsEnd) {
  FabricOptions options = lossy_and_soon_given_up();
  const auto seen = outcomes(options, kSeeds, [](NicRig& rig) {
    rig.a().words[x] = 1;
    std::uint64_t at_stop = 9;
    rig.from("q").then = [&](const queue::WorkCompletion& completion) {
      if (completion.status != queue::WorkStatus::success) {
        rig.to("q")->stop();
        at_stop = rig.b().words[x];
      }
    };
    rig.post("q", rig.put(x, x));
    rig.run();
    return text({at_stop, rig.b().words[x]});
  });
  EXPECT_THAT(seen, Contains("0 0"));
  EXPECT_THAT(seen, Contains("1 1"));
  EXPECT_THAT(seen, Not(Contains("0 1")));
}

// E25
TEST(Reliability, RequestsOfAQueuePairEndInTheOrderOfPosting) {
  for (const auto profile : {"strict", "portable", "relaxed", "unordered", "iwarp"}) {
    FabricOptions options = lossy();
    options.profile = nic_profile(profile);
    outcomes(options, kSeeds / 5, [&](NicRig& rig) {
      for (int count = 0; count < 3; ++count) {
        rig.post("q", rig.put(x, x));
        rig.post("q", rig.get(y, x));
      }
      rig.run();
      std::vector<std::uint64_t> ids;
      for (const auto& completion : rig.from("q").ended) {
        ids.push_back(completion.id);
      }
      EXPECT_THAT(ids, ElementsAre(1, 2, 3, 4, 5, 6)) << profile;
      return "";
    });
  }
}

// E27
TEST(Reliability, AReceiveAndItsSendEndInEitherOrder) {
  const auto seen = outcomes({}, 500, [](NicRig& rig) {
    std::string order;
    rig.to("q")->post_receive(1, rig.b().at(y), 8, 0).value();
    rig.from("q").then = [&](const queue::WorkCompletion&) { order += "sent "; };
    rig.to("q").then = [&](const queue::WorkCompletion&) { order += "received "; };
    rig.post("q", rig.send(x));
    rig.run();
    return order;
  });
  EXPECT_THAT(seen, ElementsAre("received sent ", "sent received "));
}

// E28
TEST(Reliability, AnOverrunOfCompletionsIsTold) {
  FabricOptions options;
  options.completions = 2;
  const auto seen = outcomes(options, 300, [](NicRig& rig) {
    for (int count = 0; count < 8; ++count) {
      rig.post("q", rig.put(x, x));
    }
    rig.run();
    return rig.from("q").ended.size() == 8 ? "all" : rig.from("q").losses.empty() ? "silence" : "told";
  });
  EXPECT_THAT(seen, Contains("told"));
  EXPECT_THAT(seen, Not(Contains("silence")));
}

// E29: L20
TEST(Reliability, RelaxedMemoryMayTakeWritesToTheSameBytesInEitherOrder) {
  const auto last = [](NicRig& rig) {
    rig.a().words[x] = 1;
    rig.a().words[y] = 2;
    rig.post("q", rig.put(x, x));
    rig.post("q", rig.put(x, y));
    rig.run();
    return text({rig.b().words[x]});
  };
  EXPECT_THAT(outcomes(of("relaxed"), kSeeds, last), ElementsAre("1", "2"));
  EXPECT_THAT(outcomes(of("portable"), kSeeds, last), ElementsAre("2"));
  EXPECT_THAT(outcomes(of("strict"), kSeeds, last), ElementsAre("2"));
}

// E31: L07
TEST(Reliability, UnorderedMemoryMayBeReadBeforeAnEarlierWriteOfTheSameBytes) {
  const auto read = [](NicRig& rig) {
    rig.a().words[x] = 1;
    rig.a().words[y] = 9;
    rig.post("q", rig.put(x, x));
    rig.post("q", rig.get(y, x));
    rig.run();
    return text({rig.a().words[y]});
  };
  EXPECT_THAT(outcomes(of("unordered"), kSeeds, read), ElementsAre("0", "1"));
  EXPECT_THAT(outcomes(of("relaxed"), kSeeds, read), ElementsAre("1"));
}

// E32: C08
TEST(Reliability, AFlushMakesEarlierWritesVisibleBeforeItEnds) {
  const auto publish = [](bool flushes) {
    return [flushes](NicRig& rig) {
      rig.a().words[x] = rig.a().words[flag] = 1;
      std::uint64_t seen = 9;
      rig.when([&] { return rig.b().words[flag] == 1; }, [&] { seen = rig.b().words[x]; });
      rig.post("q", rig.put(x, x));
      if (flushes) {
        rig.post("q", {.id = 50, .verb = queue::Verb::flush});
      }
      rig.from("q").then = [&rig, flushes](const queue::WorkCompletion& completion) {
        if (!flushes || completion.id == 50) {
          rig.post("p", rig.put(flag, flag));
        }
      };
      rig.run();
      return text({seen});
    };
  };
  EXPECT_THAT(outcomes({}, kSeeds, publish(true)), ElementsAre("1"));
  EXPECT_THAT(outcomes({}, kSeeds, publish(false)), ElementsAre("0", "1"));  // a completion alone says nothing
}

// E34
TEST(Reliability, AnAlignedWordTearsOnlyWhereTheGranuleIsAByte) {
  const auto torn = [](NicRig& rig) {
    rig.a().words[x] = ~std::uint64_t{0};
    bool is_torn = false;
    rig.when([&] { return rig.b().words[x] != 0 && rig.b().words[x] != ~std::uint64_t{0}; }, [&] { is_torn = true; });
    rig.post("q", rig.put(x, x));
    rig.run();
    return is_torn ? "torn" : "whole";
  };
  EXPECT_THAT(outcomes({}, 1000, torn), ElementsAre("whole"));
  FabricOptions bytes;
  bytes.granule = 1;
  EXPECT_THAT(outcomes(bytes, 1000, torn), ElementsAre("torn", "whole"));
}

// E35
TEST(Reliability, AnIWARPWriteMayCompleteAndNeverArrive) {
  const auto write = [](NicRig& rig) {
    rig.a().words[x] = 1;
    rig.from("q").then = [&](const queue::WorkCompletion&) { rig.b().kill(); };
    rig.post("q", rig.put(x, x));
    rig.run();
    return rig.from("q").statuses().at(0) + " " + text({rig.b().words[x]});
  };
  EXPECT_THAT(outcomes(of("iwarp"), 300, write), Contains("success 0"));
}

TEST(Reliability, AnIWARPRefusalClosesTheQueuePairAndNamesNoRequest) {
  const auto seen = outcomes(of("iwarp"), 300, [](NicRig& rig) {
    queue::WorkRequest refused = rig.get(x, x);
    refused.remote.key = 77;
    rig.post("q", rig.get(y, y));
    rig.post("q", refused);
    rig.post("q", rig.get(y, y));
    rig.run();
    return std::to_string(rig.from("q").losses.size()) + testing::PrintToString(rig.from("q").statuses());
  });
  EXPECT_THAT(seen, ElementsAre("1{ \"success\", \"flushed\", \"flushed\" }"));
}

TEST(Reliability, ADatagramThatIsRefusedFailsAlone) {
  const auto seen = outcomes(of("srd"), 500, [](NicRig& rig) {
    rig.a().words[x] = 1;
    queue::WorkRequest refused = rig.put(x, x);
    refused.remote.key = 77;
    rig.post("q", refused);
    rig.post("q", rig.put(y, x));
    rig.run();
    std::string told;
    for (const auto& completion : rig.from("q").ended) {
      told += std::to_string(completion.id) + " " + std::string(to_string(completion.status)) + ", ";
    }
    return told + text({rig.b().words[y]});
  });
  EXPECT_THAT(seen,
              ElementsAre("1 refused by the other end, 2 success, 1", "2 success, 1 refused by the other end, 1"));
}

TEST(Reliability, TheSameSeedGivesTheSameHash) {
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    std::uint64_t hash[2] = {};
    for (std::uint64_t& value : hash) {
      NicRig rig(lossy(), seed);
      rig.post("q", rig.put(x, x, 600));
      rig.post("q", rig.get(x, y, 600));
      rig.run();
      value = rig.scheduler.hash() ^ rig.scheduler.data();
    }
    EXPECT_EQ(hash[0], hash[1]) << seed;
    hashes.insert(hash[0]);
  }
  EXPECT_EQ(hashes.size(), 100U);
}

}  // namespace
}  // namespace ferry::sim::test
