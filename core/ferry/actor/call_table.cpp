#include <ferry/actor/call_table.hpp>

#include <algorithm>
#include <vector>

namespace ferry {

CallId CallTable::add(PendingCall& call) {
  const CallId id(next_.fetch_add(1, std::memory_order_relaxed));
  Shard& home = shard(id);
  const std::lock_guard lock(home.mutex);
  home.calls.emplace(id, &call);
  return id;
}

bool CallTable::remove(CallId id) noexcept {
  Shard& home = shard(id);
  const std::lock_guard lock(home.mutex);
  return home.calls.erase(id) != 0;
}

void CallTable::deliver(const Peer& from, CallId id, wire::Bytes&& message) noexcept {
  Shard& home = shard(id);
  const std::lock_guard lock(home.mutex);
  if (const auto found = home.calls.find(id); found != home.calls.end() && found->second->call_peer == &from) {
    PendingCall* call = found->second;
    home.calls.erase(found);
    call->on_reply(std::move(message));
  }
}

void CallTable::fail(CallId id, const Failure& why) noexcept {
  Shard& home = shard(id);
  const std::lock_guard lock(home.mutex);
  if (const auto found = home.calls.find(id); found != home.calls.end()) {
    PendingCall* call = found->second;
    home.calls.erase(found);
    call->on_no_reply(why);
  }
}

void CallTable::fail_all(const Peer& peer, const Failure& why, std::uint64_t channel) noexcept {
  std::vector<CallId> ids;
  for (Shard& home : shards_) {
    const std::lock_guard lock(home.mutex);
    for (const auto& [id, call] : home.calls) {
      const std::uint64_t sent_under = call->call_sent_under.load(std::memory_order_acquire);
      if (call->call_peer == &peer && sent_under != 0 && sent_under <= channel) {
        ids.push_back(id);
      }
    }
  }
  std::sort(ids.begin(), ids.end());
  for (const CallId id : ids) {
    fail(id, why);
  }
}

}  // namespace ferry
