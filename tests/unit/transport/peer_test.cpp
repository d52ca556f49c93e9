// Peer: choosing a transport, opening, closing, driving again, cancelling and messages, in every order.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include <ferry/base/random.hpp>
#include <ferry/transport/node_core.hpp>
#include <ferry/transport/peer.hpp>

#include "peer_fixture.hpp"

namespace ferry::peer_tests {
namespace {

TEST_F(PeerTest, UsesTheFirstTransportThatOpens) {
  Tracked one;
  one.start(*peer);
  EXPECT_EQ(shm->only().in_flight(), 1U);
  EXPECT_EQ(tcp->only().opens(), 0);
  EXPECT_EQ(peer->explain(), "shm: used, a fake; tcp: not needed");
  EXPECT_EQ(peer->transport_name(), "shm");
  shm->only().finish();
  EXPECT_EQ(one.ended, 1);
  EXPECT_EQ(one.text(), "done");
}

TEST_F(PeerTest, PassesOverTransportsThatHaveNoWayOrDoNotOpen) {
  shm->why_not = "another host";
  tcp->prepare = [](FakeConnection& connection) { connection.opens_at_once = false; };
  Tracked one;
  one.start(*peer);
  EXPECT_EQ(peer->explain(), "shm: another host; tcp: not needed");
  EXPECT_EQ(peer->transport_name(), "none");
  tcp->only().accept();
  EXPECT_EQ(peer->explain(), "shm: another host; tcp: used, a fake");
  EXPECT_EQ(tcp->only().in_flight(), 1U);
  tcp->only().finish();
}

TEST_F(PeerTest, EndsWhatWaitsWithEveryReasonWhenNoTransportOpens) {
  shm->prepare = [](FakeConnection& connection) { connection.open_failure = Failure(errc::timed_out, "no answer"); };
  tcp->prepare = [](FakeConnection& connection) { connection.open_failure = Failure(errc::peer_lost, "refused"); };
  Tracked one;
  one.start(*peer);
  EXPECT_EQ(one.ended, 1);
  EXPECT_EQ(
      one.text(),
      "at process 3f2a/9c01d2e4: peer_unreachable: no transport reaches the process: shm: no answer; tcp: refused");
  EXPECT_EQ(events.failures.size(), 1U);
  Tracked again;  // tries once more
  again.start(*peer);
  EXPECT_EQ(shm->only().opens(), 2);
  EXPECT_EQ(again.code(), errc::peer_unreachable);
  peer->set_name("worker/2");
  Tracked named;
  named.start(*peer);
  EXPECT_EQ(named.operation.failure.peer(), "process 3f2a/9c01d2e4 (worker/2)");
}

TEST_F(PeerTest, GivesTheCodeOfAPeerThatWasReachedAndRefused) {
  shm->why_not = "another host";
  tcp->prepare = [](FakeConnection& connection) {
    connection.open_failure = Failure(errc::not_authorised, "another job");
  };
  Tracked one;
  one.start(*peer);
  EXPECT_EQ(one.text(),
            "at process 3f2a/9c01d2e4: not_authorised: no transport reaches the process: shm: another host; tcp: "
            "another job");
}

TEST_F(PeerTest, SaysSoWhereTheNodeHasNoTransports) {
  NodeCore bare(executor, log, ProcessId{1, 1}, "bare", {}, {});
  Tracked one;
  one.start(bare.peers().find_or_add(ProcessId{2, 2}));
  EXPECT_EQ(one.text(),
            "at process 2/00000002: peer_unreachable: no transport reaches the process: this node has no transports");
}

TEST_F(PeerTest, HandsOverWhatWaitedInTheOrderOfStarting) {
  shm->prepare = [](FakeConnection& connection) { connection.opens_at_once = false; };
  std::deque<Tracked> many(5);
  for (std::uint32_t index = 0; index < many.size(); ++index) {
    many[index].operation.sequence.index = index;
    many[index].start(*peer);
    EXPECT_TRUE(send("m" + std::to_string(index)));
  }
  shm->only().accept();
  EXPECT_EQ(shm->only().started_sequences(), (std::vector<std::uint64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(shm->only().sent(), (std::vector<std::string>{"m0", "m1", "m2", "m3", "m4"}));
  shm->only().finish_all();
  for (const Tracked& one : many) {
    EXPECT_EQ(one.ended, 1);
  }
}

TEST_F(PeerTest, CompletesWhatEndsInPlaceWhileHandingOver) {
  shm->prepare = [](FakeConnection& connection) {
    connection.opens_at_once = false;
    connection.completes_inline = true;
    connection.result = 5;
  };
  std::deque<Tracked> many(3);
  for (Tracked& one : many) {
    one.start(*peer);
  }
  shm->only().accept();
  for (const Tracked& one : many) {
    EXPECT_EQ(one.ended, 1);
    EXPECT_EQ(one.operation.result, 5U);
  }
}

TEST_F(PeerTest, StartsAgainOnTheNextChannelWhatABrokenOneGivesBack) {
  std::deque<Tracked> many(4);
  for (Tracked& one : many) {
    one.start(*peer);
  }
  shm->only().break_channel(kBroken, PeerState::unknown, 1);
  EXPECT_EQ(many[0].code(), errc::outcome_unknown);
  EXPECT_EQ(shm->only().opens(), 2);
  EXPECT_EQ(shm->only().in_flight(), 3U);
  shm->only().finish_all();
  for (const Tracked& one : many) {
    EXPECT_EQ(one.ended, 1);
  }
  EXPECT_EQ(events.failures, std::vector<std::string>{"peer_lost: the wire was cut"});
}

TEST_F(PeerTest, FallsBackToAnotherTransportAfterABreak) {
  Tracked one;
  one.start(*peer);
  shm->only().open_failure = Failure(errc::peer_lost, "its segment is gone");
  shm->only().break_channel(kBroken);
  EXPECT_EQ(tcp->only().in_flight(), 1U);
  EXPECT_EQ(peer->explain(), "shm: its segment is gone; tcp: used, a fake");
  tcp->only().finish();
  EXPECT_EQ(one.text(), "done");
}

TEST_F(PeerTest, SaysPeerLostWhereABrokenChannelCannotBeMadeAgain) {
  Tracked one;
  one.start(*peer);
  for (FakeTransport* transport : {shm, tcp}) {
    transport->only().open_failure = Failure(errc::timed_out, "no answer");
  }
  shm->only().break_channel(kBroken);
  EXPECT_EQ(
      one.text(),
      "at process 3f2a/9c01d2e4: peer_lost: the connection was lost and cannot be made again: shm: no answer; tcp: no "
      "answer");
  EXPECT_EQ(one.ended, 1);
  EXPECT_FALSE(peer->fate());
}

TEST_F(PeerTest, QueuesWhatFindsTheChannelBrokenBeforeItsEndIsTold) {
  Tracked first;
  first.start(*peer);
  shm->only().finish();
  shm->only().stop_taking();
  Tracked late;
  late.start(*peer);
  EXPECT_TRUE(send("late"));
  EXPECT_EQ(late.ended, 0);
  shm->only().refuse(kBroken);  // its on_closed
  EXPECT_EQ(shm->only().in_flight(), 1U);
  EXPECT_EQ(events.unsent, std::vector<std::string>{"late"});
  EXPECT_TRUE(shm->only().sent().empty()) << "a message that was sent before a reported failure arrived after it";
  shm->only().finish();
  EXPECT_EQ(late.text(), "done");
}

TEST_F(PeerTest, EndsEverythingForGoodWhenItsLifeHasEnded) {
  Tracked in_flight;
  in_flight.start(*peer);
  shm->only().break_channel(Failure(errc::peer_lost, "exited with status 3"), PeerState::gone, 1);
  EXPECT_EQ(in_flight.ended, 1);
  Tracked later;
  later.start(*peer);
  EXPECT_EQ(later.ended, 1);
  EXPECT_EQ(later.text(), "peer_lost: exited with status 3");
  EXPECT_EQ(peer->send(message("x")).to_text(), "peer_lost: exited with status 3");
  EXPECT_EQ(peer->fate().code(), errc::peer_lost);
  EXPECT_EQ(shm->only().opens(), 1);
  EXPECT_EQ(events.states, std::vector<PeerState>{PeerState::gone});
}

TEST_F(PeerTest, IsStaleWhenAnotherLifeAnswers) {
  shm->prepare = [](FakeConnection& connection) {
    connection.open_failure = Failure(errc::stale_incarnation, "another process lives there");
    connection.open_state = PeerState::other_incarnation;
  };
  Tracked one;
  one.start(*peer);
  EXPECT_EQ(one.text(), "stale_incarnation: another process lives there");
  EXPECT_EQ(tcp->only().opens(), 0);
  Tracked later;
  later.start(*peer);
  EXPECT_EQ(later.code(), errc::stale_incarnation);
}

TEST_F(PeerTest, NotYetReachedIsNotGone) {
  shm->prepare = [](FakeConnection& connection) {
    connection.open_failure = Failure(errc::peer_unreachable, "nobody listens");
    connection.open_state = PeerState::gone;  // it may not have started
  };
  Tracked one;
  one.start(*peer);
  EXPECT_EQ(tcp->only().in_flight(), 1U);
  tcp->only().finish();
  EXPECT_FALSE(peer->fate());
}

TEST_F(PeerTest, DeclaredGoneWhateverTheStateEndsAllOnce) {
  const Failure died(errc::peer_lost, "the process worker/2 was killed by signal 9 (Killed)");
  for (const int when : {0, 1, 2, 3}) {
    SCOPED_TRACE(when);
    Peer& other = node.peers().find_or_add(ProcessId{100 + static_cast<std::uint64_t>(when), 1});
    shm->prepare = [when](FakeConnection& connection) { connection.opens_at_once = when != 1; };
    Tracked one;
    if (when > 0) {
      one.start(other);  // 1: waits; 2: in flight; 3: complete
    }
    if (when == 3) {
      shm->connections.back()->finish();
    }
    other.declare_gone(died);
    other.declare_gone(Failure(errc::shut_down, "later"));
    EXPECT_EQ(one.ended, when > 0 ? 1 : 0);
    if (when == 1 || when == 2) {
      EXPECT_EQ(one.operation.failure.detail(), died.detail());
    }
    EXPECT_EQ(other.fate().detail(), died.detail());
    if (when > 0) {
      EXPECT_TRUE(shm->connections.back()->was_closed());
    }
    Tracked later;
    later.start(other);
    EXPECT_EQ(later.code(), errc::peer_lost);
  }
}

// A channel sees the end of a process first, and the process that started it sees how it ended.
TEST_F(PeerTest, WhatItsParentSawOfAnEndCountsMoreThanWhatAChannelSaid) {
  const Failure died(errc::peer_lost, "the process worker/2 was killed by signal 9 (Killed)");
  Tracked one;
  one.start(*peer);
  shm->only().break_channel(kBroken, PeerState::gone);
  EXPECT_EQ(one.operation.failure.detail(), kBroken.detail());
  EXPECT_EQ(peer->fate().detail(), kBroken.detail());
  peer->declare_gone(died);
  EXPECT_EQ(peer->fate().detail(), died.detail());
  peer->declare_gone(Failure(errc::peer_lost, "later"));
  peer->close(Failure(errc::shut_down, "later"));
  Tracked later;
  later.start(*peer);
  EXPECT_EQ(later.operation.failure.detail(), died.detail());
}

TEST_F(PeerTest, IgnoresAChannelThatOpensAfterItWasDeclaredGone) {
  shm->prepare = [](FakeConnection& connection) { connection.opens_at_once = false; };
  Tracked one;
  one.start(*peer);
  peer->declare_gone(kBroken);
  shm->only().accept();  // was on its way
  EXPECT_EQ(one.ended, 1);
  EXPECT_EQ(peer->transport_name(), "none");
  shm->only().refuse(kBroken);
}

TEST_F(PeerTest, CancelsWhatWaitsForAChannelItself) {
  shm->prepare = [](FakeConnection& connection) { connection.opens_at_once = false; };
  Tracked one;
  Tracked other;
  one.start(*peer);
  other.start(*peer);
  peer->cancel(one.operation, Failure(errc::cancelled, "a stop was requested"));
  EXPECT_EQ(one.text(), "cancelled: a stop was requested");
  peer->cancel(one.operation, kBroken);  // complete: does nothing
  EXPECT_EQ(one.ended, 1);
  shm->only().accept();
  EXPECT_EQ(shm->only().in_flight(), 1U);
  shm->only().finish();
}

TEST_F(PeerTest, PassesCancelsOnToTheConnection) {
  Tracked one;
  one.start(*peer);
  peer->cancel(one.operation, Failure(errc::timed_out, "limit"));
  EXPECT_EQ(one.text(), "timed_out: limit");
  EXPECT_EQ(shm->only().cancels(), 1);
}

TEST_F(PeerTest, AbandonsWhereverTheOperationIs) {
  shm->prepare = [](FakeConnection& connection) { connection.opens_at_once = false; };
  Tracked waiting;
  waiting.start(*peer);
  EXPECT_TRUE(peer->abandon(waiting.operation));
  EXPECT_FALSE(peer->abandon(waiting.operation));
  Tracked flying;
  flying.start(*peer);
  shm->only().accept();
  EXPECT_TRUE(peer->abandon(flying.operation));
  Tracked complete;
  complete.start(*peer);
  shm->only().finish();
  EXPECT_FALSE(peer->abandon(complete.operation));
  EXPECT_EQ(waiting.ended + flying.ended, 0);
}

TEST_F(PeerTest, NeverStartsMembersOfASequenceAgain) {
  Tracked plain;
  plain.start(*peer);
  Tracked member;
  member.operation.sequence = {7, 0, 0};
  member.start(*peer);
  shm->only().break_channel(kBroken);
  EXPECT_EQ(member.text(),
            "not_executed: the channel of its sequence has ended (peer_lost: the wire was cut); its members are not "
            "started on another");
  EXPECT_EQ(shm->only().in_flight(), 1U);
  shm->only().finish();
}

TEST_F(PeerTest, StartsMembersBoundToAChannelOnThatOneAlone) {
  Tracked opener;
  opener.start(*peer);
  shm->only().finish();
  const ChannelNumber bound = peer->channel();
  Tracked first;
  first.operation.sequence = {7, 0, bound};
  first.start(*peer);
  shm->only().stop_taking();
  Tracked second;  // finds it broken: must not wait for the next channel
  second.operation.sequence = {7, 1, bound};
  second.start(*peer);
  EXPECT_EQ(second.code(), errc::not_executed);
  shm->only().break_channel(kBroken, PeerState::unknown, 1);
  EXPECT_EQ(first.code(), errc::outcome_unknown);
  Tracked opener_again;
  opener_again.start(*peer);
  shm->only().finish();
  EXPECT_NE(peer->channel(), bound);
  Tracked third;
  third.operation.sequence = {7, 2, bound};
  third.start(*peer);
  EXPECT_EQ(third.text(),
            "not_executed: the channel of its sequence has ended (peer_lost: the wire was cut); its members are not "
            "started on another");
  EXPECT_EQ(third.ended, 1);
}

TEST_F(PeerTest, PassesAnswersOn) {
  EXPECT_TRUE(send("question"));
  shm->only().answer(message("answer"));
  EXPECT_EQ(events.replies, std::vector<std::string>{"answer"});
}

TEST_F(PeerTest, LearnsEachAddressOnce) {
  peer->learn({{TransportId::tcp, "a:1"}, {TransportId::tcp, "b:2"}});
  peer->learn({{TransportId::tcp, "b:2"}, {TransportId::shm, "b:2"}});
  EXPECT_EQ(peer->contact().addresses.size(), 3U);
  EXPECT_EQ(peer->describe(), "process 3f2a/9c01d2e4");
  peer->set_name("worker/2");
  EXPECT_EQ(peer->describe(), "process 3f2a/9c01d2e4 (worker/2)");
  EXPECT_FALSE(peer->is_self());
}

TEST_F(PeerTest, TableShutDownClosesAllAndWhoComesLater) {
  Tracked one;
  one.start(*peer);
  node.peers().shut_down();
  node.peers().shut_down();
  EXPECT_EQ(one.text(), "shut_down: this node is shutting down");
  Tracked later;
  later.start(node.peers().find_or_add(ProcessId{77, 7}));
  EXPECT_EQ(later.text(), "shut_down: this node is shutting down");
  EXPECT_EQ(node.peers().find(ProcessId{78, 7}), nullptr);
}

// Everything at random: each operation ends exactly once, whatever comes in which order, and the peer works in the end.
RC_GTEST_FIXTURE_PROP(PeerTest, EveryOperationEndsOnce, ()) {
  shm->prepare = [](FakeConnection& connection) { connection.opens_at_once = false; };
  tcp->prepare = shm->prepare;
  std::deque<Tracked> all;
  std::vector<bool> abandoned;
  const auto steps = *rc::gen::container<std::vector<std::pair<int, std::size_t>>>(
      rc::gen::pair(rc::gen::inRange(0, 9), rc::gen::inRange<std::size_t>(0, 100)));
  for (const auto& [what, number] : steps) {
    FakeConnection* connection = shm->connections.empty() ? nullptr : &shm->only();
    const bool open = peer->transport_name() == "shm";
    if (what < 3) {
      all.emplace_back();
      abandoned.push_back(false);
      all.back().operation.sequence.id = number % 4 == 0 ? 1 : 0;
      all.back().start(*peer);
    } else if (what == 3 && open && connection->in_flight() > 0) {
      connection->finish();
    } else if (what == 4 && open) {
      connection->break_channel(kBroken, PeerState::unknown, number % 3);
    } else if (what == 5 && connection != nullptr && connection->is_opening()) {
      number % 3 == 0 ? connection->refuse(kBroken) : connection->accept();
    } else if (what == 8 && !tcp->connections.empty() && tcp->only().is_opening()) {
      tcp->only().refuse(kBroken);
    } else if (what == 6 && !all.empty()) {
      peer->cancel(all[number % all.size()].operation, Failure(errc::cancelled, "stop"));
    } else if (what == 7 && !all.empty()) {
      const std::size_t at = number % all.size();
      if (all[at].ended == 0 && !abandoned[at]) {
        abandoned[at] = peer->abandon(all[at].operation);
      }
    }
  }
  peer->declare_gone(kBroken);
  for (std::size_t index = 0; index < all.size(); ++index) {
    RC_ASSERT(all[index].ended == (abandoned[index] ? 0 : 1));
  }
}

// The same from several threads, for ThreadSanitizer.
TEST_F(PeerTest, SurvivesStartsCancelsBreaksAndSendsFromManyThreads) {
  std::atomic<bool> done{false};
  Tracked opener;
  opener.start(*peer);
  FakeConnection& connection = shm->only();
  connection.finish();
  std::thread breaker([&] {
    Random random(1);
    while (!done.load()) {
      if (peer->transport_name() == "shm") {
        connection.break_channel(kBroken, PeerState::unknown, static_cast<std::size_t>(random.below(3)));
      }
      std::this_thread::yield();
    }
  });
  std::vector<std::thread> users;
  std::atomic<int> lost{0};
  for (std::uint64_t user = 0; user < 2; ++user) {
    users.emplace_back([&, user] {
      Random random(user);
      for (int round = 0; round < 2'000; ++round) {
        Tracked one;
        one.operation.sequence = random.below(4) == 0 ? SequenceTag{1, 0, peer->channel()} : SequenceTag{};
        one.start(*peer);
        static_cast<void>(peer->send(message("m")));
        if (random.below(2) == 0) {
          peer->cancel(one.operation, Failure(errc::cancelled, "stop"));
        }
        if (one.ended == 0 && !peer->abandon(one.operation)) {
          while (one.ended == 0) {
            std::this_thread::yield();
          }
        }
        lost += one.ended > 1 ? 1 : 0;
      }
    });
  }
  for (std::thread& user : users) {
    user.join();
  }
  done.store(true);
  breaker.join();
  EXPECT_EQ(lost.load(), 0);
  peer->declare_gone(kBroken);
}

// Declared gone while others open, break and start.
TEST_F(PeerTest, MayBeDeclaredGoneAtAnyMoment) {
  for (int round = 0; round < 300; ++round) {
    Peer& other = node.peers().find_or_add(ProcessId{1000 + static_cast<std::uint64_t>(round), 1});
    std::deque<Tracked> many(8);
    std::thread user([&] {
      for (Tracked& one : many) {
        one.start(other);
      }
    });
    std::thread killer([&] { other.declare_gone(kBroken); });
    user.join();
    killer.join();
    for (const Tracked& one : many) {
      ASSERT_EQ(one.ended, 1);
    }
  }
}

}  // namespace
}  // namespace ferry::peer_tests
