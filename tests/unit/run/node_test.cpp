// Node: several in one process that share a secret, references as text, foreign event loops, refused options.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <ferry/ferry.hpp>
#include <ferry/run/router.hpp>

#include <text_of.hpp>

#include "job_secret.hpp"

namespace ferry::run_tests {
namespace {

const std::string kVerbs = has_verbs() ? "verbs, " : "";  // where this build has it

NodeOptions options_of(const SecretFile& secret, std::string transports) {
  NodeOptions options;
  options.transports = std::move(transports);
  options.secret_file = secret.path();
  options.threads = 1;
  return options;
}

using test::text_of;

Task<std::uint64_t> read_add_write(BufferRef ref) {
  std::array<std::uint64_t, 4> words{};
  co_await ref.read_into(std::span(words));
  const std::uint64_t old = co_await ref.fetch_add(5);
  words[3] = 99;
  const BufferRef last = ref.subrange(24, 8);
  co_await last.write_from(std::span(words).subspan(3));
  co_return std::accumulate(words.begin(), words.end(), old * 1000);
}

Task<std::uint64_t> read_add_write(Node& node, std::string text) {
  auto work = read_add_write(BufferRef::from_text(node.context(), text));
  co_return co_await work;
}

class Nothing : public Actor {
 public:
  explicit Nothing(ActorContext&) {}
  void nothing() {}
  static constexpr auto endpoints = ferry::endpoints<&Nothing::nothing>;
};

class OverTransport : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Over, OverTransport, ::testing::Values("shm", "tcp"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST_P(OverTransport, NodesOfOneSecretReachEachOtherByTextAlone) {
  const SecretFile secret;
  Node owner(options_of(secret, GetParam()));
  Node reader(options_of(secret, GetParam()));
  std::vector<std::uint64_t> words{7, 1, 2, 3};
  const RDMABuffer buffer = owner.context().register_memory(std::span(words));
  EXPECT_EQ(reader.block_on(read_add_write(reader, buffer.ref().to_text())), 7U + 1 + 2 + 99 + 7000);
  EXPECT_EQ(words, (std::vector<std::uint64_t>{12, 1, 2, 99}));
}

TEST_P(OverTransport, NodeOfAnotherSecretIsRefused) {
  const SecretFile secret;
  const SecretFile another;
  Node owner(options_of(secret, GetParam()));
  Node reader(options_of(another, GetParam()));
  std::vector<std::uint64_t> words(4);
  const RDMABuffer buffer = owner.context().register_memory(std::span(words));
  const std::string text =
      text_of([&] { static_cast<void>(reader.block_on(read_add_write(reader, buffer.ref().to_text()))); });
  EXPECT_NE(text.find("not_authorised"), std::string::npos) << text;
  EXPECT_EQ(words, std::vector<std::uint64_t>(4));
}

// Another thread's node works with the memory of one that only the loop gives turns to.
template <class Loop>
void serve_from(Loop loop, const char* transports) {
  const SecretFile secret;
  NodeOptions driven = options_of(secret, transports);
  driven.driven_from_outside = true;
  Node owner(driven);
  std::vector<std::uint64_t> words{7, 1, 2, 3};
  const RDMABuffer buffer = owner.context().register_memory(std::span(words));
  const std::string text = buffer.ref().to_text();
  std::atomic<bool> done{false};
  std::uint64_t result = 0;
  std::thread other([&] {
    Node reader(options_of(secret, transports));
    result = reader.block_on(read_add_write(reader, text));
    done.store(true);
  });
  loop(owner, done);
  other.join();
  EXPECT_EQ(result, 7U + 1 + 2 + 99 + 7000);
  // Its own tasks run here too, and while they are waited for.
  EXPECT_EQ(owner.block_on(read_add_write(buffer.ref())), 12U + 1 + 2 + 99 + 12000);
}

TEST_P(OverTransport, LoopOfPollServesANode) {
  serve_from(
      [](Node& node, const std::atomic<bool>& done) {
        while (!done.load()) {
          pollfd ready{node.fd(), POLLIN, 0};
          ASSERT_NE(::poll(&ready, 1, 20), -1);  // looks at `done` now and then
          node.poll();
        }
      },
      GetParam());
}

TEST_P(OverTransport, IoContextOfAsioServesANode) {
  serve_from(
      [](Node& node, const std::atomic<bool>& done) {
        boost::asio::io_context loop;
        boost::asio::posix::stream_descriptor descriptor(loop, node.fd());
        std::function<void()> wait = [&] {
          descriptor.async_wait(boost::asio::posix::stream_descriptor::wait_read, [&](boost::system::error_code error) {
            if (!error) {
              node.poll();
              wait();
            }
          });
        };
        wait();
        while (!done.load()) {
          loop.run_one_for(std::chrono::milliseconds(20));
        }
        descriptor.release();  // it stays the node's
      },
      GetParam());
}

TEST(Node, FdOfANodeWithThreadsIsRefused) {
  Node node;
  const char* const remedy = "this node has threads of its own; make it with NodeOptions::driven_from_outside";
  EXPECT_EQ(text_of([&] { static_cast<void>(node.fd()); }), std::string("fd: invalid_argument: ") + remedy);
  EXPECT_EQ(text_of([&] { static_cast<void>(node.poll()); }), std::string("poll: invalid_argument: ") + remedy);
}

std::uint16_t port_of(Node& node) {
  const std::string where = node.context().node().contact().addresses.at(0).text;
  return static_cast<std::uint16_t>(std::stoi(where.substr(where.rfind(':') + 1)));
}

TEST(Node, ReferencesOfANodeThatWasReplacedAtItsPortAreStaleAndThoseOfTheNewOneWork) {
  const SecretFile secret;
  NodeOptions options = options_of(secret, "tcp");
  std::vector<std::uint64_t> words{7, 1, 2, 3};
  Node knows_it(options_of(secret, "tcp"));
  const std::string old = [&] {
    Node owner(options);
    options.port = port_of(owner);
    const RDMABuffer buffer = owner.context().register_memory(std::span(words));
    std::string text = buffer.ref().to_text();
    EXPECT_EQ(knows_it.block_on(read_add_write(knows_it, text)), 7U + 1 + 2 + 99 + 7000);
    return text;
  }();
  words = {7, 1, 2, 3};
  Node successor(options);
  Node newcomer(options_of(secret, "tcp"));
  const RDMABuffer buffer = successor.context().register_memory(std::span(words));
  const auto use = [](Node& node, const std::string& reference) {
    return text_of([&] { static_cast<void>(node.block_on(read_add_write(node, reference))); });
  };
  EXPECT_THAT(use(newcomer, old), testing::AllOf(testing::HasSubstr("stale_incarnation"),
                                                 testing::HasSubstr("it has ended, or it listens elsewhere; get a new "
                                                                    "reference")));
  EXPECT_THAT(use(knows_it, old),
              testing::ContainsRegex("peer_lost|stale_incarnation"));  // it had been told of its end
  EXPECT_EQ(words, (std::vector<std::uint64_t>{7, 1, 2, 3}));
  for (Node* node : {&newcomer, &knows_it}) {
    words = {7, 1, 2, 3};
    EXPECT_EQ(node->block_on(read_add_write(*node, buffer.ref().to_text())), 7U + 1 + 2 + 99 + 7000);
  }
}

TEST(Node, PortInUseIsNamedWithTheRemedy) {
  NodeOptions options;
  options.transports = "tcp";
  Node first(options);
  const auto addresses = first.context().node().contact().addresses;
  ASSERT_EQ(addresses.size(), 1U);
  const std::string where = addresses[0].text;
  options.port = port_of(first);
  EXPECT_EQ(text_of([&] { Node second(options); }),
            "node: address_in_use: listening on " + where +
                ": the port is in use by another process (`ss -ltnp` names it); choose another one, or port 0 for any "
                "that is free");
}

TEST(Node, TransportsThatAreNoneAreNamed) {
  NodeOptions options;
  options.transports = "shm,carrier_pigeon";
  EXPECT_EQ(text_of([&] { Node node(options); }),
            "node: invalid_argument: \"carrier_pigeon\" is no transport of this build; choose auto, shm, " + kVerbs +
                "tcp, or a list such as shm,tcp");
  options.transports = "";
  EXPECT_EQ(text_of([&] { Node node(options); }),
            "node: invalid_argument: \"\" is no transport of this build; choose auto, shm, " + kVerbs +
                "tcp, or a list such as shm,tcp");
}

TEST(Node, SecretFilesThatCannotBeUsedAreNamedWithTheRemedy) {
  NodeOptions options;
  options.secret_file = "/nonexistent/secret";
  EXPECT_EQ(text_of([&] { Node node(options); }),
            "node: invalid_argument: the secret file /nonexistent/secret cannot be read: No such file or directory");
  SecretFile secret;
  options.secret_file = secret.path();
  secret.permit(0640);
  EXPECT_EQ(text_of([&] { Node node(options); }),
            "node: not_authorised: others than its owner may use the secret file " + secret.path() +
                "; run: chmod 600 " + secret.path());
  secret.permit(0600);
  for (const std::string& contents :
       {std::string(), std::string(63, 'a'), std::string(65, 'a'), std::string(64, 'g'), "+" + std::string(63, 'a')}) {
    secret.write(contents);
    EXPECT_EQ(text_of([&] { Node node(options); }),
              "node: malformed: the secret file " + secret.path() +
                  " must hold 64 hexadecimal digits; make one with: openssl rand -hex 32")
        << contents;
  }
  secret.write(std::string(64, 'a') + "\r\n");
  EXPECT_EQ(text_of([&] { Node node(options); }), "no error");
}

TEST(Node, TellsWhichTransportIsUsedAndWhy) {
  const SecretFile secret;
  Node owner(options_of(secret, "tcp"));
  Node reader(options_of(secret, "auto"));
  std::vector<std::uint64_t> words(4);
  const RDMABuffer buffer = owner.context().register_memory(std::span(words));
  const BufferRef ref = BufferRef::from_text(reader.context(), buffer.ref().to_text());
  EXPECT_EQ(ref.peer()->explain(), "not connected yet");
  static_cast<void>(reader.block_on(read_add_write(ref)));
  EXPECT_EQ(ref.peer()->transport_name(), "tcp");
  const std::string text = ref.peer()->explain();
  EXPECT_NE(text.find("shm: "), std::string::npos) << text;
  EXPECT_NE(text.find("tcp: used, "), std::string::npos) << text;
}

TEST(NodeOfAFork, IsLeftAloneByItsDestructor) {
  auto node = std::make_unique<Node>();
  const pid_t child = ::fork();
  if (child == 0) {
    node.reset();  // waits for no thread that the child does not have
    ::_exit(5);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 5) << status;
}

TEST(NodeLimits, ThatCannotWorkAreRefusedByName) {
  const auto refusal = [](const auto& change) {
    NodeOptions options;
    options.threads = 1;
    change(options.limits);
    return text_of([&] { const Node node(options); });
  };
  EXPECT_EQ(refusal([](NodeLimits& limits) { limits.heartbeat = Duration::zero(); }),
            "node: invalid_argument: NodeOptions::limits: heartbeat is 0 ns; choose 1 ms or more");
  EXPECT_EQ(refusal([](NodeLimits& limits) { limits.handshake = Duration(5); }),
            "node: invalid_argument: NodeOptions::limits: handshake is 5 ns; choose 1 ms or more");
  EXPECT_EQ(refusal([](NodeLimits& limits) { limits.frame_bytes = 0; }),
            "node: invalid_argument: NodeOptions::limits: frame_bytes is 0; choose 4096 to 4294967295");
  EXPECT_EQ(refusal([](NodeLimits& limits) {
              limits.heartbeat = std::chrono::milliseconds(10);
              limits.failure_detection = Duration(-1);
            }),
            "node: invalid_argument: NodeOptions::limits: failure_detection is -1 ns; choose at least two heartbeats, "
            "20000000 ns");
  EXPECT_EQ(refusal([](NodeLimits& limits) { limits.quiet_grace = Duration(-1); }),
            "node: invalid_argument: NodeOptions::limits: quiet_grace is -1 ns; choose zero or more");
}

TEST(Node, MoreThreadsThanThereCanBeAreRefused) {
  EXPECT_EQ(text_of([] { const Node node({.threads = 100'000}); }),
            "node: invalid_argument: NodeOptions::threads is 100000; choose 1 to 1024, or 0 for as many as there are "
            "cores, at most 4");
}

TEST(BlockOn, AnEmptyReferenceIsRefused) {
  const std::string call = text_of([] { ferry::block_on(ActorRef<Nothing>().call<&Nothing::nothing>()); });
  EXPECT_EQ(call, "block_on: invalid_argument: the reference is empty (default-constructed)");
  std::array<std::byte, 8> local{};
  const std::string read = text_of([&] { ferry::block_on(BufferRef().read_into(std::span(local))); });
  EXPECT_EQ(read, call);
}

// --- run()

Task<int> give(int status) {
  co_return status;
}
Task<int> give_up() {
  throw std::runtime_error("there is no data");
  co_return 0;
}
Task<int> give_up_with_a_number() {
  throw 5;
  co_return 0;
}

TEST(Run, GivesWhatTheProgramGivesAndOneWhereItThrows) {
  NodeOptions options;
  options.threads = 1;
  EXPECT_EQ(ferry::run(options, actors<>, [](Context&) { return give(7); }), 7);
  testing::internal::CaptureStderr();
  EXPECT_EQ(ferry::run(options, actors<>, [](Context&) { return give_up(); }), 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "ferry: there is no data\n");
  testing::internal::CaptureStderr();
  EXPECT_EQ(ferry::run(options, actors<>, [](Context&) { return give_up_with_a_number(); }), 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "ferry: an exception that is not derived from std::exception\n");
  options.transports = "none";
  testing::internal::CaptureStderr();
  EXPECT_EQ(ferry::run(options, actors<>, [](Context&) { return give(0); }), 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "ferry: invalid_argument: \"none\" is no transport of this build; choose auto, shm, " + kVerbs +
                "tcp, or a list such as shm,tcp\n");
}

}  // namespace
}  // namespace ferry::run_tests
