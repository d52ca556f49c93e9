#include <ferry/transport/peer.hpp>

#include <algorithm>

#include <ferry/transport/node_core.hpp>

namespace ferry {
namespace {

Failure shutting_down() {
  return Failure(errc::shut_down, "this node is shutting down");
}

}  // namespace

PeerTable::~PeerTable() {
  shut_down();
}

Peer& PeerTable::find_or_add(ProcessId id) {
  const std::lock_guard lock(mutex_);
  auto& peer = peers_[id];
  if (peer == nullptr) {
    peer = std::make_unique<Peer>(node_, id);
    if (shut_down_) {
      peer->close(shutting_down());
    }
  }
  return *peer;
}

Peer& PeerTable::find_or_add(const Contact& contact) {
  Peer& peer = find_or_add(contact.id);
  peer.learn(contact.addresses);
  return peer;
}

Peer* PeerTable::find(ProcessId id) const noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = peers_.find(id);
  return found == peers_.end() ? nullptr : found->second.get();
}

std::vector<Peer*> PeerTable::by_process() const {
  std::vector<Peer*> peers;
  peers.reserve(peers_.size());
  for (const auto& [id, peer] : peers_) {  // lint: allow(unordered) sorted below
    peers.push_back(peer.get());
  }
  std::sort(peers.begin(), peers.end(), [](const Peer* a, const Peer* b) { return a->id() < b->id(); });
  return peers;
}

std::vector<std::string> PeerTable::describe_operations() const {
  std::vector<Peer*> peers;
  {
    const std::lock_guard lock(mutex_);
    peers = by_process();
  }
  std::vector<std::string> phrases;
  for (const Peer* peer : peers) {
    peer->describe_operations(phrases);
  }
  return phrases;
}

void PeerTable::shut_down() noexcept {
  std::vector<Peer*> peers;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(shut_down_, true)) {
      return;
    }
    peers = by_process();
  }
  for (Peer* peer : peers) {
    peer->close(shutting_down());
  }
}

}  // namespace ferry
