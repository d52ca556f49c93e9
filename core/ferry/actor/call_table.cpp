#include <ferry/actor/call_table.hpp>

#include <algorithm>
#include <mutex>
#include <span>
#include <vector>

#include <boost/intrusive/unordered_set.hpp>

namespace ferry {

struct CallTable::NumberOf {
  using type = CallId;
  const CallId& operator()(const PendingCall& call) const noexcept { return call.number_; }
};

// Numbers come one after the other, each to the next shard.
struct CallTable::Spread {
  std::size_t operator()(CallId id) const noexcept { return id.value() / kShards; }
};

struct CallTable::Shard {
  using Calls =
      boost::intrusive::unordered_set<PendingCall, boost::intrusive::key_of_value<NumberOf>,
                                      boost::intrusive::hash<Spread>, boost::intrusive::power_2_buckets<true>>;
  using Buckets = std::vector<Calls::bucket_type>;
  static constexpr std::size_t kFirstBuckets = 16;

  void add(PendingCall& call) {
    if (calls.size() == buckets.size()) {
      Buckets more(2 * buckets.size());
      calls.rehash({more.data(), more.size()});
      buckets = std::move(more);
    }
    calls.insert(call);
  }
  // Takes a call out. Null: it is not there.
  PendingCall* take(CallId id, const Peer* from = nullptr) noexcept {
    const auto found = calls.find(id);
    if (found == calls.end() || (from != nullptr && found->call_peer != from)) {
      return nullptr;
    }
    PendingCall& call = *found;
    calls.erase(found);
    return &call;
  }

  std::mutex mutex;
  Buckets buckets = Buckets(kFirstBuckets);
  Calls calls{Calls::bucket_traits(buckets.data(), buckets.size())};
};

CallTable::CallTable() : shards_(std::make_unique<Shard[]>(kShards)) {}

CallTable::~CallTable() = default;

CallTable::Shard& CallTable::shard(CallId id) noexcept {
  return shards_[id.value() % kShards];
}

CallId CallTable::add(PendingCall& call) {
  const CallId id(next_.fetch_add(1, std::memory_order_relaxed));
  call.number_ = id;
  Shard& home = shard(id);
  const std::lock_guard lock(home.mutex);
  home.add(call);
  return id;
}

bool CallTable::remove(CallId id) noexcept {
  Shard& home = shard(id);
  const std::lock_guard lock(home.mutex);
  return home.take(id) != nullptr;
}

void CallTable::deliver(const Peer& from, CallId id, wire::Bytes&& message) noexcept {
  Shard& home = shard(id);
  const std::lock_guard lock(home.mutex);
  if (PendingCall* const call = home.take(id, &from)) {
    call->on_reply(std::move(message));
  }
}

void CallTable::fail(CallId id, const Failure& why) noexcept {
  Shard& home = shard(id);
  const std::lock_guard lock(home.mutex);
  if (PendingCall* const call = home.take(id)) {
    call->on_no_reply(why);
  }
}

void CallTable::fail_all(const Peer& peer, const Failure& why, std::uint64_t channel) noexcept {
  std::vector<CallId> ids;
  for (Shard& home : std::span(shards_.get(), kShards)) {
    const std::lock_guard lock(home.mutex);
    for (const PendingCall& call : home.calls) {  // lint: allow(unordered) sorted below
      const std::uint64_t sent_under = call.call_sent_under.load(std::memory_order_acquire);
      if (call.call_peer == &peer && sent_under != 0 && sent_under <= channel) {
        ids.push_back(call.number_);
      }
    }
  }
  std::sort(ids.begin(), ids.end());
  for (const CallId id : ids) {
    fail(id, why);
  }
}

void CallTable::for_each(const std::function<void(const PendingCall&)>& visit) const {
  std::vector<const PendingCall*> waiting;
  for (const Shard& home : std::span(shards_.get(), kShards)) {
    for (const PendingCall& call : home.calls) {  // lint: allow(unordered) sorted below
      waiting.push_back(&call);
    }
  }
  std::sort(waiting.begin(), waiting.end(),
            [](const PendingCall* a, const PendingCall* b) { return a->number_ < b->number_; });
  for (const PendingCall* call : waiting) {
    visit(*call);
  }
}

}  // namespace ferry
