#include <ferry/tcp/session.hpp>

#include <utility>

#include <fmt/format.h>

#include <ferry/tcp/frames.hpp>

namespace ferry::tcp {

void AtomicLog::acknowledge(std::uint64_t number) noexcept {
  while (count_ > 0 && at(0).number <= number) {
    at(0).failure = {};
    first_ = (first_ + 1) % ring_.size();
    --count_;
  }
}

Result<const AtomicLog::Reply*> AtomicLog::find(std::uint64_t number, std::uint64_t acknowledged) {
  acknowledge(acknowledged);
  if (number > last_) {
    if (count_ >= kAtomicsInFlight) {
      return Failure(errc::malformed,
                     fmt::format("atomic request: at most {} unacknowledged ones expected", kAtomicsInFlight));
    }
    return nullptr;
  }
  for (std::size_t index = 0; index < count_; ++index) {
    if (at(index).number == number) {
      return &at(index);
    }
  }
  return Failure(errc::malformed,
                 fmt::format("atomic request: number {} was acknowledged, or never sent, before {}", number, last_));
}

void AtomicLog::add(Reply reply) {
  if (count_ == ring_.size()) {
    std::vector<Reply> larger(ring_.empty() ? 8 : ring_.size() * 2);
    for (std::size_t index = 0; index < count_; ++index) {
      larger[index] = std::move(at(index));
    }
    ring_ = std::move(larger);
    first_ = 0;
  }
  last_ = reply.number;
  at(count_++) = std::move(reply);
}

Session::Takeover Session::begin_takeover(std::uint64_t channel, std::shared_ptr<TcpInbound>& before) {
  const std::lock_guard lock(mutex_);
  if (channel <= channel_) {
    return Takeover::stale;
  }
  if (taking_over_) {
    return Takeover::busy;
  }
  taking_over_ = true;
  channel_ = channel;
  before = std::exchange(inbound_, nullptr);
  return Takeover::begun;
}

void Session::finish_takeover(std::shared_ptr<TcpInbound> now) {
  const std::lock_guard lock(mutex_);
  inbound_ = std::move(now);
  taking_over_ = false;
}

void Session::forget(const TcpInbound& inbound) noexcept {
  std::shared_ptr<TcpInbound> last;  // released without the lock
  const std::lock_guard lock(mutex_);
  if (inbound_.get() == &inbound) {
    last = std::exchange(inbound_, nullptr);
  }
}

bool Session::has_inbound() const noexcept {
  const std::lock_guard lock(mutex_);
  return inbound_ != nullptr || taking_over_;
}

std::shared_ptr<Session> SessionTable::find_or_add(ProcessId initiator) {
  const std::lock_guard lock(mutex_);
  auto& session = sessions_[initiator];
  if (session == nullptr) {
    session = std::make_shared<Session>(initiator, next_token_++);
  }
  return session;
}

void SessionTable::orphaned(const Session& session, bool for_good) {
  const std::lock_guard lock(mutex_);
  const auto is_orphan = [this](ProcessId initiator) {
    const auto found = sessions_.find(initiator);
    return found != sessions_.end() && !found->second->has_inbound();
  };
  const ProcessId initiator = session.initiator();
  if (for_good) {
    if (is_orphan(initiator)) {
      sessions_.erase(initiator);
    }
    return;
  }
  orphans_.push_back(initiator);
  while (orphans_.size() > kOrphans) {
    if (is_orphan(orphans_.front())) {
      sessions_.erase(orphans_.front());
    }
    orphans_.pop_front();
  }
}

std::size_t SessionTable::size() const noexcept {
  const std::lock_guard lock(mutex_);
  return sessions_.size();
}

}  // namespace ferry::tcp
