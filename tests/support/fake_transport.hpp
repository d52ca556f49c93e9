// FakeTransport: a transport without a channel: the test says what happens to each connection, operation and message.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <boost/intrusive/list.hpp>

#include <ferry/transport/peer.hpp>
#include <ferry/transport/transport.hpp>

namespace ferry::test {

// Thread-safe; calls back without its lock.
class FakeConnection final : public Connection {
 public:
  FakeConnection(TransportId id, ConnectionEvents& events) noexcept : id_(id), events_(events) {}
  ~FakeConnection() override { close(Failure(errc::shut_down, "gone")); }

  // --- What the test sets.
  bool opens_at_once = true;
  bool completes_inline = false;
  bool cancels_at_once = true;
  bool pipelines = true;
  bool records = true;       // what was started and sent
  std::uint64_t result = 0;  // of atomics
  Failure inline_failure{};  // of operations that complete inline
  Failure open_failure{};    // open() fails with it at once
  PeerState open_state = PeerState::unknown;

  // --- What the test does.
  void accept() {
    {
      const std::lock_guard lock(mutex_);
      is_opening_ = false;
      is_open_ = true;
    }
    events_.on_open(*this);
  }
  void refuse(const Failure& why, PeerState state = PeerState::unknown) {
    {
      const std::lock_guard lock(mutex_);
      is_opening_ = false;
    }
    events_.on_closed(*this, why, state);
  }
  // The oldest operation in flight ends.
  void finish(Failure failure = {}) {
    Operation* operation = take_front();
    operation->result = result;
    failure ? operation->complete(std::move(failure)) : operation->complete();
  }
  // The same if there is one; for a thread beside those that start and drop operations.
  void finish_one() {
    Operation* operation = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (operations_.empty()) {
        return;
      }
      operation = &operations_.front();
      operations_.pop_front();
    }
    operation->complete();
  }
  void finish_all(const Failure& failure = {}) {
    while (in_flight() > 0) {
      finish(failure);
    }
  }
  void progress() {
    const std::lock_guard lock(mutex_);
    operations_.front().progress.fetch_add(1);
  }
  // The channel breaks: the oldest `unknown` operations end outcome_unknown, the others are given back.
  void break_channel(const Failure& why, PeerState state = PeerState::unknown, std::size_t unknown = 0) {
    std::vector<Operation*> lost;
    std::vector<Operation*> again;
    {
      const std::lock_guard lock(mutex_);
      is_open_ = false;
      while (!operations_.empty()) {
        (lost.size() < unknown ? lost : again).push_back(&operations_.front());
        operations_.pop_front();
      }
    }
    for (Operation* operation : lost) {
      operation->complete(Failure(errc::outcome_unknown, "the channel broke").with_effect(Effect::unknown));
    }
    for (Operation* operation : again) {
      events_.redrive(*operation, why);
    }
    events_.on_closed(*this, why, state);
  }
  // From now on start() and send() say not_open; on_closed() follows by refuse().
  void stop_taking() {
    const std::lock_guard lock(mutex_);
    is_open_ = false;
  }
  void answer(wire::Bytes message) { events_.on_message(*this, std::move(message)); }
  Operation& operation(std::size_t index) {
    const std::lock_guard lock(mutex_);
    return *std::next(operations_.begin(), static_cast<std::ptrdiff_t>(index));
  }

  // --- What has happened.
  std::size_t in_flight() const {
    const std::lock_guard lock(mutex_);
    return operations_.size();
  }
  // open() was called, and neither accept() nor refuse() since.
  bool is_opening() const {
    const std::lock_guard lock(mutex_);
    return is_opening_;
  }
  int opens() const {
    const std::lock_guard lock(mutex_);
    return opens_;
  }
  int cancels() const {
    const std::lock_guard lock(mutex_);
    return cancels_;
  }
  bool was_closed() const {
    const std::lock_guard lock(mutex_);
    return closed_;
  }
  std::vector<std::string> sent() const {
    const std::lock_guard lock(mutex_);
    return sent_;
  }
  std::vector<std::uint64_t> started_sequences() const {  // the index of each member that was started
    const std::lock_guard lock(mutex_);
    return started_;
  }

  // --- Connection.
  void open() noexcept override {
    {
      const std::lock_guard lock(mutex_);
      ++opens_;
      require(!closed_ && !is_open_ && !is_opening_);
      is_opening_ = true;
      if (!opens_at_once && !open_failure) {
        return;
      }
    }
    if (open_failure) {
      refuse(open_failure, open_state);
    } else {
      accept();
    }
  }
  Started start(Operation& operation) noexcept override {
    const std::lock_guard lock(mutex_);
    if (!is_open_) {
      return Started::not_open;
    }
    if (records) {
      started_.push_back(operation.sequence.index);
    }
    if (completes_inline) {
      operation.failure = inline_failure;
      operation.result = result;
      return Started::complete;
    }
    operation.connection.store(this, std::memory_order_release);
    operations_.push_back(operation);
    return Started::pending;
  }
  void cancel(Operation& operation, const Failure& why) noexcept override {
    {
      const std::lock_guard lock(mutex_);
      ++cancels_;
      if (!cancels_at_once || !is_here(operation)) {
        return;
      }
      operations_.erase(operations_.iterator_to(operation));
    }
    operation.complete(why);
  }
  bool abandon(Operation& operation) noexcept override {
    const std::lock_guard lock(mutex_);
    if (!is_here(operation)) {
      return false;
    }
    operations_.erase(operations_.iterator_to(operation));
    return true;
  }
  bool send(wire::Bytes&& message) noexcept override {
    const std::lock_guard lock(mutex_);
    if (!is_open_) {
      return false;
    }
    sent_.emplace_back(wire::as_text({message.data(), message.size()}));
    return true;
  }
  void close(const Failure& why) noexcept override {
    std::vector<Operation*> ended;
    {
      const std::lock_guard lock(mutex_);
      is_open_ = false;
      closed_ = true;
      while (!operations_.empty()) {
        ended.push_back(&operations_.front());
        operations_.pop_front();
      }
    }
    for (Operation* operation : ended) {
      operation->complete(why);
    }
  }
  bool pipelines_sequences() const noexcept override { return pipelines; }
  TransportId transport() const noexcept override { return id_; }
  std::string describe() const override { return "a fake"; }

 private:
  // Under the lock. Its hook says nothing: the peer's own queue uses it too.
  bool is_here(const Operation& operation) const noexcept {
    return std::any_of(operations_.begin(), operations_.end(),
                       [&](const Operation& one) { return &one == &operation; });
  }
  static void require(bool condition) noexcept {
    if (!condition) {
      std::fprintf(stderr, "open() of a connection that is open or was closed\n");
      std::abort();
    }
  }
  Operation* take_front() {
    const std::lock_guard lock(mutex_);
    Operation* operation = &operations_.front();
    operations_.pop_front();
    return operation;
  }

  using Operations = boost::intrusive::list<
      Operation, boost::intrusive::member_hook<Operation, boost::intrusive::list_member_hook<>, &Operation::hook>>;

  const TransportId id_;
  ConnectionEvents& events_;
  mutable std::mutex mutex_;
  Operations operations_;
  bool is_open_ = false;
  bool is_opening_ = false;
  bool closed_ = false;
  int opens_ = 0;
  int cancels_ = 0;
  std::vector<std::string> sent_;
  std::vector<std::uint64_t> started_;
};

class FakeTransport final : public Transport {
 public:
  explicit FakeTransport(TransportId id) noexcept : id_(id) {}

  std::string why_not;  // if not empty: reaches nobody
  std::vector<FakeConnection*> connections;
  std::function<void(FakeConnection&)> prepare;  // told of each new connection

  FakeConnection& only() const { return *connections.at(0); }

  TransportId id() const noexcept override { return id_; }
  Capabilities capabilities() const override { return {}; }
  Result<void> listen() override { return {}; }
  std::vector<Address> addresses() const override { return {Address{id_, "here"}}; }
  MemoryDomain* memory() noexcept override { return domain; }
  std::unique_ptr<Connection> connect(const Peer& peer, ConnectionEvents& events, std::string& why) override {
    static_cast<void>(peer.contact());  // transports may ask
    if (!why_not.empty()) {
      why = why_not;
      return nullptr;
    }
    auto connection = std::make_unique<FakeConnection>(id_, events);
    if (prepare) {
      prepare(*connection);
    }
    connections.push_back(connection.get());
    return connection;
  }
  void shut_down() noexcept override {}

  MemoryDomain* domain = nullptr;

 private:
  const TransportId id_;
};

}  // namespace ferry::test
