#include <ferry/sim/watched_connection.hpp>

#include <optional>
#include <unordered_map>
#include <utility>

#include <ferry/sim/memory_watch.hpp>
#include <ferry/transport/peer.hpp>

namespace ferry::sim {
namespace {

struct Pending {
  WatchedConnection* connection;
  MemoryWatch* watch;
  std::uint64_t use;
  Operation::OnComplete on_complete;
};

// Of all worlds of this thread, by address: an operation is in flight on one connection at a time. Never iterated but
// to drop those of a connection.
std::unordered_map<Operation*, Pending>& pending() {
  thread_local std::unordered_map<Operation*, Pending> operations;
  return operations;
}

// It is the starter's again.
std::optional<Pending> take(Operation& operation) {
  const auto found = pending().find(&operation);
  if (found == pending().end()) {
    return std::nullopt;
  }
  const Pending taken = found->second;
  pending().erase(found);
  operation.on_complete = taken.on_complete;
  return taken;
}

}  // namespace

WatchedConnection::WatchedConnection(MemoryWatch& watch, ProcessNumber process, const Peer& peer,
                                     ConnectionEvents& events, const Make& make)
    : watch_(watch), process_(process), peer_(peer), events_(events), inner_(make(*this)) {}

WatchedConnection::~WatchedConnection() {
  inner_.reset();
  std::erase_if(pending(), [this](const auto& entry) { return entry.second.connection == this; });
}

Started WatchedConnection::start(Operation& operation) noexcept {
  const Started started = inner_->start(operation);
  if (started == Started::complete) {
    watch_.refused(process_, operation, operation.failure);
  } else if (started == Started::pending) {
    const std::uint64_t use = watch_.begin(process_, operation, operation.sequence.id);
    pending()[&operation] = {this, &watch_, use, std::exchange(operation.on_complete, &WatchedConnection::completed)};
    operation.connection.store(this, std::memory_order_release);
  }
  return started;
}

void WatchedConnection::completed(Operation& operation) noexcept {
  if (const auto taken = take(operation)) {
    taken->watch->end(taken->use, operation.failure);
  }
  operation.complete();
}

// The one inside looks at Operation::connection for itself.
void WatchedConnection::cancel(Operation& operation, const Failure& why) noexcept {
  operation.connection.store(inner_.get(), std::memory_order_release);
  inner_->cancel(operation, why);
  if (pending().contains(&operation)) {
    operation.connection.store(this, std::memory_order_release);
  }
}

bool WatchedConnection::abandon(Operation& operation) noexcept {
  operation.connection.store(inner_.get(), std::memory_order_release);
  const bool is_withdrawn = inner_->abandon(operation);
  if (is_withdrawn) {
    if (const auto taken = take(operation)) {
      watch_.forget(taken->use);
    }
  } else if (pending().contains(&operation)) {
    operation.connection.store(this, std::memory_order_release);
  }
  return is_withdrawn;
}

void WatchedConnection::on_open(Connection&) noexcept {
  is_open_ = true;
  events_.on_open(*this);
}

void WatchedConnection::on_closed(Connection&, const Failure& why, PeerState state) noexcept {
  std::vector<std::string> waiting;
  if (!std::exchange(is_open_, false)) {
    peer_.describe_operations(waiting);
  }
  watch_.channel_ended(process_, peer_.id(), waiting);
  events_.on_closed(*this, why, state);
}

void WatchedConnection::redrive(Operation& operation, const Failure& why) noexcept {
  if (const auto taken = take(operation)) {
    watch_.forget(taken->use);
  }
  events_.redrive(operation, why);
}

void WatchedConnection::on_unsent(Connection&, wire::ByteView message, const Failure& why) noexcept {
  events_.on_unsent(*this, message, why);
}

void WatchedConnection::on_message(Connection&, wire::Bytes&& message) noexcept {
  events_.on_message(*this, std::move(message));
}

}  // namespace ferry::sim
