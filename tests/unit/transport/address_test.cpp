// Addresses, contacts and the node's own memory over LocalTransport.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <ferry/transport/contact_codec.hpp>
#include <ferry/transport/local_transport.hpp>
#include <ferry/transport/node_core.hpp>
#include <ferry/transport/peer.hpp>

#include <manual_executor.hpp>

namespace ferry {
namespace {

TEST(Address, HasATextFormThatReadsBack) {
  for (const char* text : {"tcp:127.0.0.1:4567", "tcp:[fe80::1%eth0]:4567", "shm:3f2a9c01", "sim:7", "verbs:"}) {
    const auto address = address_from_string(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(to_string(*address), text);
  }
}

TEST(Address, OfUnknownFormIsRefusedWithWhatWasExpected) {
  EXPECT_EQ(address_from_string("127.0.0.1").error().to_text(),
            "malformed: \"127.0.0.1\" is no address: expected TRANSPORT:PLACE, as in tcp:127.0.0.1:4567");
  EXPECT_EQ(address_from_string("carrier:pigeon").error().code(), errc::malformed);
  EXPECT_EQ(address_from_string("none:x").error().code(), errc::malformed);
  EXPECT_EQ(address_from_string("").error().code(), errc::malformed);
  EXPECT_EQ(address_from_string("tcp:" + std::string(125, 'x')).error().to_text(),
            "malformed: an address has at most 128 bytes, not 129");
}

Contact sample() {
  return Contact{{7, 9}, {{TransportId::shm, "abc"}, {TransportId::tcp, "127.0.0.1:1"}, {TransportId::tcp, "[::1]:2"}}};
}

wire::Bytes encoded(const Contact& contact) {
  wire::Bytes bytes;
  wire::Writer writer(bytes);
  encode_contact(writer, contact);
  return bytes;
}

TEST(Contact, SurvivesItsWireForm) {
  const wire::Bytes bytes = encoded(sample());
  wire::Reader reader({bytes.data(), bytes.size()});
  const auto contact = decode_contact(reader);
  ASSERT_TRUE(contact);
  EXPECT_TRUE(reader.finish("contact"));
  EXPECT_EQ(contact->id, sample().id);
  EXPECT_EQ(contact->addresses, sample().addresses);
}

TEST(Contact, LeavesOutAddressesThatDoNotFitAndPassesOverTransportsItDoesNotKnow) {
  Contact contact = sample();
  contact.addresses.insert(contact.addresses.begin(), {TransportId::tcp, std::string(129, 'x')});
  for (int index = 0; index < 300; ++index) {
    contact.addresses.push_back({TransportId::tcp, "host" + std::to_string(index)});
  }
  wire::Bytes bytes = encoded(contact);
  EXPECT_LE(bytes.size(), 16U + 1024);
  bytes[17] = std::byte{200};  // the transport of the first that fits
  wire::Reader reader({bytes.data(), bytes.size()});
  const auto again = decode_contact(reader);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->addresses.front(), (Address{TransportId::tcp, "127.0.0.1:1"}));
}

TEST(Contact, IsRefusedWhenCutOrWithoutAnId) {
  const wire::Bytes bytes = encoded(sample());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    wire::Reader reader({bytes.data(), length});
    EXPECT_EQ(decode_contact(reader).error().code(), errc::malformed) << length;
  }
  const wire::Bytes nobody = encoded(Contact{{0, 9}, {}});
  wire::Reader reader({nobody.data(), nobody.size()});
  EXPECT_EQ(decode_contact(reader).error().to_text(), "malformed: contact: the process id must not be zero");
}

RC_GTEST_PROP(Contact, OfAnyBytesIsAnErrorOrAContact, (const std::vector<std::uint8_t>& noise)) {
  wire::Reader reader({reinterpret_cast<const std::byte*>(noise.data()), noise.size()});
  const auto contact = decode_contact(reader);
  if (contact) {
    for (const Address& address : contact->addresses) {
      RC_ASSERT(address.text.size() <= Address::kMaxText);
      RC_ASSERT(address.transport != TransportId::none);
    }
  } else {
    RC_ASSERT(contact.error().code() == errc::malformed);
  }
}

// --- The node's own memory.

struct Full final : NotificationSink {
  bool on_notify(std::uint64_t) noexcept override { return false; }
};

struct LocalTest : ::testing::Test {
  LocalTest() : node(executor, log, ProcessId{1, 7}, "self", {}, {}) {
    node.add_transport(std::make_unique<LocalTransport>(node));
    self = &node.peers().find_or_add(node.self());
    LocalRegion region;
    region.base = reinterpret_cast<std::byte*>(words);
    region.size = sizeof(words);
    handle = node.regions().insert(region).value();
  }
  ~LocalTest() override {
    node.regions().revoke(handle);
    node.regions().release(handle);
  }
  // Runs it; must end in place.
  Failure run(OperationRequest request, std::uint64_t* old = nullptr) {
    request.region.owner = node.self();
    request.region.slot = handle.slot;
    request.region.generation = handle.generation;
    request.region.rights = Access::all;
    Operation operation(request);
    // The first one waits while the peer opens, which for the own process is at once.
    operation.on_complete = [](Operation& complete) noexcept { *static_cast<bool*>(complete.starter) = true; };
    bool ended = false;
    operation.starter = &ended;
    EXPECT_TRUE(self->start(operation) == Started::complete || ended);
    if (old != nullptr) {
      *old = operation.result;
    }
    return operation.failure;
  }
  OperationRequest write_of(std::span<const Chunk> chunks) {
    OperationRequest request;
    request.kind = OperationKind::write;
    request.region.length = sizeof(words);
    request.list = chunks;
    return request;
  }

  test::ManualExecutor executor;
  NullLog log;
  NodeCore node;
  Peer* self;
  RegionHandle handle;
  alignas(8) std::uint64_t words[8] = {1, 2, 3, 4, 5, 6, 7, 8};
};

TEST_F(LocalTest, ReachesItsOwnMemoryInPlace) {
  std::uint64_t local[2] = {};
  OperationRequest read;
  read.region.offset = 8;
  read.region.length = 16;
  read.single = {0, reinterpret_cast<std::byte*>(local), 16};
  EXPECT_FALSE(run(read));
  EXPECT_EQ(local[0], 2U);
  EXPECT_EQ(local[1], 3U);
  OperationRequest add;
  add.kind = OperationKind::fetch_add;
  add.operand = 10;
  add.single = {24, nullptr, 8};
  std::uint64_t old = 0;
  EXPECT_FALSE(run(add, &old));
  EXPECT_EQ(old, 4U);
  EXPECT_EQ(words[3], 14U);
  add.region.domain = AtomicDomain::nic;
  EXPECT_EQ(run(add).to_text(), "unsupported: no NIC is attached that could execute this atomic");
  OperationRequest flush;
  flush.kind = OperationKind::flush;
  EXPECT_FALSE(run(flush));
  EXPECT_TRUE(self->is_self());
  EXPECT_EQ(self->explain(), "local: used, this process itself");
}

TEST_F(LocalTest, SaysThatAWriteMayHaveTakenEffectOnceAPieceHas) {
  std::uint64_t value = 9;
  auto* bytes = reinterpret_cast<std::byte*>(&value);
  const Chunk good_then_bad[] = {{0, bytes, 8}, {sizeof(words), bytes, 8}};
  const Failure late = run(write_of(good_then_bad));
  EXPECT_EQ(late.code(), errc::invalid_range);
  EXPECT_EQ(late.effect(), Effect::unknown);
  EXPECT_EQ(words[0], 9U);
  const Chunk bad_then_good[] = {{sizeof(words), bytes, 8}, {8, bytes, 8}};
  EXPECT_EQ(run(write_of(bad_then_good)).effect(), Effect::none);
  EXPECT_EQ(words[1], 2U);
  const Chunk empty_then_bad[] = {{0, nullptr, 0}, {sizeof(words), bytes, 8}};
  EXPECT_EQ(run(write_of(empty_then_bad)).effect(), Effect::none);
}

TEST_F(LocalTest, SaysThatTheBytesWereWrittenWhereOnlyTheNotificationFailed) {
  Full full;
  node.regions().set_notifications(handle, &full);
  std::uint64_t value = 9;
  const Chunk chunk[] = {{0, reinterpret_cast<std::byte*>(&value), 8}};
  OperationRequest write = write_of(chunk);
  write.notify = true;
  const Failure refused = run(write);
  EXPECT_EQ(refused.code(), errc::overloaded);
  EXPECT_EQ(refused.effect(), Effect::unknown);
  EXPECT_EQ(words[0], 9U);
}

TEST_F(LocalTest, DoesNotReachAnother) {
  Operation operation;
  Peer& other = node.peers().find_or_add(ProcessId{2, 2});
  operation.on_complete = [](Operation&) noexcept {};
  static_cast<void>(other.start(operation));
  EXPECT_EQ(operation.failure.to_text(),
            "at process 2/00000002: peer_unreachable: no transport reaches the process: local: another process");
}

TEST(NodeCore, TellsWhereItsProcessCanBeReached) {
  test::ManualExecutor executor;
  NullLog log;
  NodeCore node(executor, log, ProcessId{1, 7}, "self", {}, {});
  EXPECT_EQ(node.contact().id, node.self());
  EXPECT_TRUE(node.contact().addresses.empty());
  const std::uint64_t first = node.next_sequence();
  EXPECT_EQ(node.next_sequence(), first + 1);
  EXPECT_EQ(NodeCore::current(), nullptr);
}

}  // namespace
}  // namespace ferry
