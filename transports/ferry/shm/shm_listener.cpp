#include <ferry/shm/shm_listener.hpp>

#include <algorithm>

#include <fmt/format.h>

#include <ferry/shm/shm_inbound.hpp>

namespace ferry::shm {

Result<void> ShmListener::listen() {
  auto listener = listen_as(node_.core.self());
  if (!listener) {
    return listener.error();
  }
  listener_ = std::move(*listener);
  node_.poller->add(shared_from_this());
  if (auto watched = node_.poller->watch(listener_.get(), *this, 0); !watched) {
    node_.poller->remove(*this);
    listener_.reset();
    return watched;
  }
  return {};
}

bool ShmListener::poll() noexcept {
  constexpr unsigned kQuarantineEvery = 256;
  if (++polls_ % kQuarantineEvery == 0) {
    node_.domain.look_at_quarantine();
  }
  return false;
}

void ShmListener::on_ready(unsigned) noexcept {
  while (FileDescriptor accepted = accept_from(listener_.get())) {
    auto process = PeerProcess::of_socket(accepted.get());
    if (!process) {
      node_.core.log().write(LogLevel::warning,
                             fmt::format("shm: refused a connection: {}", process.error().to_text()));
      continue;
    }
    std::shared_ptr<ShmInbound> inbound;
    {
      const std::lock_guard lock(mutex_);
      if (shut_down_ || inbounds_.size() >= kInbounds) {
        continue;  // closed: the peer tries another transport
      }
      inbound = std::make_shared<ShmInbound>(node_, *this, PacketSocket(std::move(accepted)), std::move(*process));
      inbounds_.push_back({inbound, {}, {}});
    }
    inbound->start();
  }
}

template <class Condition>
ShmListener::Inbounds ShmListener::select(Condition condition) const {
  const std::lock_guard lock(mutex_);
  Inbounds found;
  for (const Known& known : inbounds_) {
    if (condition(known)) {
      found.push_back(known.inbound);
    }
  }
  return found;
}

ShmListener::Known* ShmListener::find(const ShmInbound& inbound) noexcept {
  const auto at =
      std::find_if(inbounds_.begin(), inbounds_.end(), [&](const Known& k) { return k.inbound.get() == &inbound; });
  return at == inbounds_.end() ? nullptr : &*at;
}

Result<ShmListener::Admission> ShmListener::admit(ShmInbound& inbound, ProcessId peer) {
  for (const auto& older : select([&](const Known& known) { return known.peer == peer; })) {
    older->end(Failure(errc::peer_lost, "the process has connected anew"));
  }
  const std::lock_guard lock(mutex_);
  if (fenced_.find(peer) != fenced_.end()) {
    return Failure(errc::not_authorised, "this life of the process was fenced off: it has been replaced");
  }
  Known* const known = find(inbound);
  const auto free = std::find(taken_.begin(), taken_.end(), false);
  if (known == nullptr || free == taken_.end()) {
    return Failure(errc::resource_exhausted,
                   fmt::format("{} processes are connected and that is the most", kAdmissions));
  }
  *free = true;
  known->peer = peer;
  known->admission = {++channels_, static_cast<std::uint32_t>(free - taken_.begin())};
  (*node_.board)->admitted[known->admission.place].store(known->admission.channel, std::memory_order_seq_cst);
  return known->admission;
}

void ShmListener::withdraw(Known& known) noexcept {
  if (known.admission.channel != 0) {
    (*node_.board)->admitted[known.admission.place].store(0, std::memory_order_seq_cst);
  }
}

void ShmListener::withdraw(const ShmInbound& inbound) noexcept {
  const std::lock_guard lock(mutex_);
  if (Known* known = find(inbound)) {
    withdraw(*known);
  }
}

void ShmListener::remove(const ShmInbound& inbound) noexcept {
  const std::lock_guard lock(mutex_);
  if (Known* known = find(inbound)) {
    withdraw(*known);
    if (known->admission.channel != 0) {
      taken_[known->admission.place] = false;
    }
    inbounds_.erase(inbounds_.begin() + (known - inbounds_.data()));
  }
}

void ShmListener::fence(ProcessId peer) noexcept {
  {
    const std::lock_guard lock(mutex_);
    fenced_.insert(peer);
    for (Known& known : inbounds_) {
      if (known.peer == peer) {
        withdraw(known);
        known.inbound->ask_to_end();
      }
    }
  }
  node_.poller->wake();
}

void ShmListener::retire_segment(std::uint32_t segment) noexcept {
  for (const auto& inbound : select([](const Known& known) { return known.admission.channel != 0; })) {
    inbound->retire_segment(segment);
  }
  node_.poller->wake();
}

std::size_t ShmListener::size() const noexcept {
  const std::lock_guard lock(mutex_);
  return inbounds_.size();
}

void ShmListener::shut_down() noexcept {
  {
    const std::lock_guard lock(mutex_);
    shut_down_ = true;
  }
  if (listener_) {
    node_.poller->unwatch(listener_.get());
    node_.poller->remove(*this);
    listener_.reset();
  }
  for (const auto& inbound : select([](const Known&) { return true; })) {
    node_.poller->remove(*inbound);
    inbound->end(Failure(errc::shut_down, "the node has shut down"));
    inbound->let_go();
    remove(*inbound);
  }
}

}  // namespace ferry::shm
