// A node with an actor whose every step is in the test's hands, under virtual time; a fake channel brings it messages.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <ferry/base/offload.hpp>
#include <ferry/base/sleep.hpp>
#include <ferry/base/start.hpp>

#include <core_node.hpp>
#include <manual_executor.hpp>

namespace ferry::runtime_tests {

using namespace std::chrono_literals;
using Node = test::CoreNode<test::ManualExecutor>;

// What happens in a test's actors, for the test to look at.
struct Diary {
  std::vector<std::string> lines;
  void note(std::string line) { lines.push_back(std::move(line)); }
};
inline Diary* diary = nullptr;  // of the test that runs

class Worker final : public Actor {
 public:
  explicit Worker(ActorContext& context) : context_(context), buffer_(context.register_memory(std::span(memory_))) {}
  ~Worker() override { diary->note("destroyed"); }
  void on_stop() noexcept override {
    diary->note("stopped");
    EXPECT_THROW(static_cast<void>(buffer_.ref()), Error) << "its memory must have been revoked";
  }

  void mark(int number) { diary->note("mark " + std::to_string(number)); }
  void log(int number) { diary->note("log " + std::to_string(number)); }
  Task<int> nap(int number, std::int64_t nanoseconds) {
    diary->note("begin " + std::to_string(number));
    auto nap = sleep_for(Duration(nanoseconds));
    co_await nap;
    diary->note("end " + std::to_string(number));
    co_return number;
  }
  Task<void> until_stopped(StopToken stop) {
    diary->note("waits");
    auto nap = as_result(sleep_for(1h));
    const Result<void> result = co_await nap;
    diary->note(stop.stop_requested() && !result ? "saw the stop" : "slept");
    co_return;
  }
  Task<std::int64_t> time_left() {
    co_return (TaskScope::current()->deadline - TaskScope::current()->strand->executor().now()).count();
  }
  int throw_number() { throw 7; }
  Task<int> throw_later() {
    auto nap = sleep_for(1ms);
    co_await nap;
    throw std::runtime_error("too late");
  }
  std::string large(std::uint64_t bytes) { return std::string(bytes, 'x'); }
  Task<int> flood_myself(int count) {
    const auto self = context_.self<Worker>();
    for (int number = 0; number < count; ++number) {
      auto send = self.send<&Worker::log>(number);
      co_await send;
      EXPECT_TRUE(self.try_send<&Worker::log>(-1));
    }
    co_return count;
  }
  Task<int> call_my_concurrent() {
    auto call = context_.self<Worker>().call<&Worker::nap_beside>(1, 10);
    co_return co_await call;
  }
  Task<int> nap_beside(int number, std::int64_t nanoseconds) { return nap(number, nanoseconds); }
  BufferRef reference() { return buffer_.ref(); }

  static constexpr auto endpoints =
      ferry::endpoints<&Worker::mark, &Worker::log, &Worker::nap, &Worker::until_stopped, &Worker::time_left,
                       &Worker::throw_number, &Worker::throw_later, &Worker::large, &Worker::flood_myself,
                       &Worker::call_my_concurrent, concurrent<&Worker::nap_beside>, &Worker::reference>;

 private:
  ActorContext& context_;
  std::vector<std::byte> memory_ = std::vector<std::byte>(8);
  RDMABuffer buffer_;
};

// A peer's channel as the runtime sees it.
class FakeInbound final : public Inbound {
 public:
  ProcessId peer() const noexcept override { return {2, 1}; }
  bool send(wire::Bytes&& message) noexcept override {
    messages.push_back(std::move(message));
    return true;
  }
  // Replies, as text: "code: text", or the size of the value.
  std::vector<std::string> replies() const {
    std::vector<std::string> texts;
    for (const wire::Bytes& message : messages) {
      const wire::ByteView bytes(message.data(), message.size());
      if (*message_kind(bytes) == MessageKind::reply) {
        const ReplyHeader header = load_reply(bytes).value();
        const auto body = bytes.subspan(ReplyHeader::kSize);
        texts.push_back(header.code == 0 ? std::to_string(body.size()) + " bytes"
                                         : std::string(to_string(static_cast<errc>(header.code))) + ": " +
                                               std::string(wire::as_text(body)));
      }
    }
    return texts;
  }
  std::size_t credited() const {
    std::size_t count = 0;
    for (const wire::Bytes& message : messages) {
      const wire::ByteView bytes(message.data(), message.size());
      if (*message_kind(bytes) == MessageKind::credit) {
        count += load_credit(bytes)->messages;
      }
    }
    return count;
  }
  std::vector<wire::Bytes> messages;
};

struct RuntimeTest : ::testing::Test {
  RuntimeTest() {
    diary = &book;
    node.emplace(actors<Worker>);
    worker = node->run(spawn(node->context(), "worker"));
  }
  ~RuntimeTest() override {
    node.reset();
    diary = nullptr;
  }
  static Task<ActorRef<Worker>> spawn(Context context, std::string name) {
    auto spawned = context.this_proc().spawn<Worker>(name);
    const auto mesh = co_await spawned;
    co_return mesh.only();
  }
  void run() { node->executor().run(); }

  // A request from another process, as its bytes.
  template <auto Function, class... A>
  wire::Bytes request(CallId call, A... arguments) {
    wire::Bytes message = detail::encode_request<Function>(arguments...);
    const auto target = detail::target_of<Worker, Function>(worker.address());
    store_request(message.data(), {call ? MessageKind::call : MessageKind::send, target.endpoint, target.fingerprint,
                                   call, target.actor, 0});
    return message;
  }
  void arrive(wire::Bytes message) { node->core().sink()->on_request(inbound, std::move(message)); }

  Diary book;
  std::optional<Node> node;
  ActorRef<Worker> worker;
  std::shared_ptr<FakeInbound> inbound = std::make_shared<FakeInbound>();
};

using Lines = std::vector<std::string>;

template <auto Function, class... A>
Task<std::string> failure_of_call(ActorRef<Worker> worker, A... arguments) {
  auto call = as_result(worker.call<Function>(arguments...));
  const auto result = co_await call;
  co_return result ? "no failure" : result.error().detail();
}

}  // namespace ferry::runtime_tests
