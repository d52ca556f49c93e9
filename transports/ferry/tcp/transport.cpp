#include <ferry/tcp/transport.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <ferry/tcp/connection.hpp>
#include <ferry/transport/peer.hpp>

namespace ferry::tcp {

TcpTransport::TcpTransport(NodeCore& node, Reactor& reactor, TcpOptions options)
    : node_(node),
      options_(std::move(options)),
      context_{reactor, node.executor(), node.limits(), stats_, node.traffic()},
      reception_(static_cast<Reception::Host&>(*this), node, node.secret(), "tcp", context_) {}

TcpTransport::~TcpTransport() {
  shut_down();
}

Capabilities TcpTransport::capabilities() const {
  return {.atomics_cpu = true,
          .atomics_nic = false,
          .completes_inline = false,
          .delivered_by = "the owner's answer, after it has copied the bytes",
          .notes = "every operation is executed by the owner's polling thread"};
}

Result<void> TcpTransport::listen() {
  return reception_.listen(options_);
}

std::vector<Address> TcpTransport::addresses() const {
  std::vector<Address> addresses;
  for (const Endpoint& endpoint : reception_.endpoints()) {
    addresses.push_back(Address{TransportId::tcp, to_string(endpoint)});
  }
  return addresses;
}

std::unique_ptr<Connection> TcpTransport::connect(const Peer& peer, ConnectionEvents& events, std::string& why) {
  if (peer.is_self()) {
    why = "it is this process itself";
    return nullptr;
  }
  return std::make_unique<TcpConnection>(node_, peer, events, context_);
}

std::size_t TcpTransport::inbounds() const {
  const std::lock_guard lock(mutex_);
  return inbounds_.size();
}

void TcpTransport::on_guest(Guest&& guest) noexcept {
  const auto session = guest.session;
  Peer& peer = node_.peers().find_or_add(Contact{session->initiator(), std::move(guest.addresses)});
  if (!guest.name.empty()) {
    peer.set_name(guest.name);
  }
  const auto inbound =
      std::make_shared<TcpInbound>(node_, static_cast<InboundOwner&>(*this), session, std::move(guest.socket),
                                   std::move(guest.buffers), std::move(guest.who), context_);
  {
    const std::lock_guard lock(mutex_);
    inbounds_.push_back(inbound);
  }
  session->finish_takeover(inbound);
  if (!inbound->begin()) {
    session->forget(*inbound);
  }
}

// Leaving the list is the last thing: shut_down() waits for it, and the transport may go then.
void TcpTransport::on_inbound_ended(TcpInbound& inbound, bool for_good) noexcept {
  reception_.sessions().orphaned(inbound.session(), for_good);
  std::shared_ptr<TcpInbound> last;
  const std::lock_guard lock(mutex_);
  const auto at = std::find_if(inbounds_.begin(), inbounds_.end(), [&](const auto& i) { return i.get() == &inbound; });
  if (at != inbounds_.end()) {
    last = std::move(*at);
    inbounds_.erase(at);
    idle_.notify_all();
  }
}

void TcpTransport::shut_down() noexcept {
  reception_.close();
  std::list<std::shared_ptr<TcpInbound>> inbounds;
  {
    const std::lock_guard lock(mutex_);
    inbounds = inbounds_;
  }
  for (const auto& inbound : inbounds) {
    inbound->end(Failure(errc::shut_down, "this node is shutting down"), true);
  }
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return inbounds_.empty(); });  // some end by themselves at this moment
}

}  // namespace ferry::tcp
