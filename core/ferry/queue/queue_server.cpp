#include <ferry/queue/queue_server.hpp>

#include <algorithm>
#include <utility>

#include <ferry/queue/message_link.hpp>
#include <ferry/queue/queue_inbound.hpp>
#include <ferry/queue/queue_limits.hpp>

namespace ferry::queue {

QueueServer::~QueueServer() {
  shut_down();
}

bool QueueServer::accept(const MakeLink& make) {
  std::vector<std::shared_ptr<QueueInbound>> gone;
  std::shared_ptr<QueueInbound> inbound;
  {
    const std::lock_guard lock(mutex_);
    if (is_shut_down_) {
      return false;
    }
    gone.swap(ended_);
    inbound = std::make_shared<QueueInbound>(node_, *this, device_, transport_);
    inbounds_.push_back(inbound);
  }
  if (!way_.has_queue_pair) {
    inbound->begin(make);
  } else {
    inbound->begin([&](ControlEvents& events) { return MessageLink::accept(node_, device_, events, make); });
  }
  return true;
}

std::shared_ptr<QueueSession> QueueServer::take_over(const std::shared_ptr<QueueInbound>& inbound, ProcessId initiator,
                                                     std::uint64_t channel) {
  std::shared_ptr<QueueSession> session;
  {
    const std::lock_guard lock(mutex_);
    auto& known = sessions_[initiator];
    if (known == nullptr) {
      known = std::make_shared<QueueSession>(next_token_++);
    }
    session = known;
  }
  for (;;) {
    std::shared_ptr<QueueInbound> before;
    {
      const std::lock_guard lock(session->mutex);
      if (channel <= session->channel) {
        return nullptr;
      }
      if (session->inbound == nullptr) {
        session->channel = channel;
        session->inbound = inbound;
        return session;
      }
      before = session->inbound;
    }
    before->end(Failure(errc::peer_lost, "its initiator has made a new channel"), false);
    const std::lock_guard lock(session->mutex);
    if (session->inbound == before) {
      session->inbound = nullptr;
    }
  }
}

void QueueServer::ended(QueueInbound& inbound, const std::shared_ptr<QueueSession>& session, bool for_good) noexcept {
  if (session != nullptr) {
    const std::lock_guard lock(session->mutex);
    if (session->inbound.get() == &inbound) {
      session->inbound = nullptr;
    }
  }
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(inbounds_.begin(), inbounds_.end(), [&](const auto& each) { return each.get() == &inbound; });
  if (found != inbounds_.end()) {
    ended_.push_back(std::move(*found));
    inbounds_.erase(found);
  }
  if (session == nullptr) {
    return;
  }
  if (for_good) {
    sessions_.erase(inbound.peer());
  } else {
    orphans_.push_back(inbound.peer());
    forget_oldest();
  }
}

// Locked.
void QueueServer::forget_oldest() {
  while (orphans_.size() > kOrphans) {
    const auto found = sessions_.find(orphans_.front());
    orphans_.pop_front();
    if (found == sessions_.end()) {
      continue;
    }
    const bool is_used = [&] {
      const std::lock_guard lock(found->second->mutex);
      return found->second->inbound != nullptr;
    }();
    if (!is_used) {
      sessions_.erase(found);
    }
  }
}

void QueueServer::shut_down() noexcept {
  for (;;) {
    std::shared_ptr<QueueInbound> inbound;
    {
      const std::lock_guard lock(mutex_);
      is_shut_down_ = true;
      if (inbounds_.empty()) {
        break;
      }
      inbound = inbounds_.back();
    }
    inbound->end(Failure(errc::shut_down, "this process ends"), true);
  }
  std::vector<std::shared_ptr<QueueInbound>> gone;
  const std::lock_guard lock(mutex_);
  gone.swap(ended_);
}

std::size_t QueueServer::size() const noexcept {
  const std::lock_guard lock(mutex_);
  return inbounds_.size();
}

}  // namespace ferry::queue
