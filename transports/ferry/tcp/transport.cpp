#include <ferry/tcp/transport.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <ferry/tcp/connection.hpp>
#include <ferry/transport/peer.hpp>

namespace ferry::tcp {

TcpTransport::TcpTransport(NodeCore& node, Reactor& reactor, TcpOptions options)
    : node_(node),
      reactor_(reactor),
      options_(std::move(options)),
      context_{reactor, node.executor(), node.limits(), stats_, node.traffic()} {}

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

Result<std::vector<SocketAddress>> TcpTransport::listen_points() const {
  if (!options_.host.empty()) {
    auto host = host_from_string(options_.host);
    if (!host) {
      return host.error();
    }
    return resolve(Endpoint{std::move(*host), options_.port});
  }
  std::vector<SocketAddress> points;
  for (const char* host : {"127.0.0.1", "::1"}) {
    if (auto point = socket_address(Endpoint{host, options_.port})) {
      points.push_back(*point);
    }
  }
  return points;
}

Result<void> TcpTransport::listen() {
  const auto points = listen_points();
  if (!points) {
    return points.error();
  }
  Failure why(errc::invalid_argument, fmt::format("listening on {}: the name has no address", options_.host));
  std::unique_ptr<Listener> listener;
  for (const SocketAddress& point : *points) {
    auto made = Listener::create(*this, node_.log(), stats_, point);
    if (made) {
      listener = std::move(*made);
      break;
    }
    why = made.error();
    if (why.code() == errc::address_in_use) {
      break;
    }
  }
  if (listener == nullptr) {
    return why;
  }
  const SocketAddress bound = listener->address();
  const Endpoint endpoint = endpoint_of(bound);
  std::vector<Endpoint> endpoints{endpoint};
  if (bound.is_wildcard()) {
    endpoints = reachable_endpoints(bound.family() == AF_INET ? AF_INET : AF_UNSPEC, endpoint.port);
  }
  const std::lock_guard lock(mutex_);
  for (const Endpoint& reachable : endpoints) {
    addresses_.push_back(Address{TransportId::tcp, to_string(reachable)});
  }
  listener_ = std::move(listener);
  reactor_.add(*listener_);
  return {};
}

std::vector<Address> TcpTransport::addresses() const {
  const std::lock_guard lock(mutex_);
  return addresses_;
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

std::size_t TcpTransport::strangers() const {
  const std::lock_guard lock(mutex_);
  return greeters_.size();
}

void TcpTransport::on_accepted(Socket socket, const SocketAddress& from) noexcept {
  try {
    greet(std::move(socket), from);
  } catch (const std::bad_alloc&) {
    node_.log().write(LogLevel::error, "tcp: there is no memory to take a connection, which was closed");
  }
}

void TcpTransport::greet(Socket socket, const SocketAddress& from) {
  auto handshake = OwnerHandshake::create(node_.secret(), node_.self());
  if (!handshake) {
    node_.log().write(LogLevel::error, "tcp: " + handshake.error().detail());
    return;
  }
  const auto greeter = std::make_shared<Greeter>(static_cast<GreeterEvents&>(*this), context_, std::move(socket),
                                                 to_string(endpoint_of(from)), std::move(*handshake), node_.name());
  std::shared_ptr<Greeter> oldest;
  {
    const std::lock_guard lock(mutex_);
    if (shut_down_) {
      return;
    }
    if (greeters_.size() >= kStrangers) {
      oldest = greeters_.front();
      greeters_.pop_front();
    }
    greeters_.push_back(greeter);
    greeter->begin();
  }
  if (oldest != nullptr) {
    end_stranger(oldest, Failure(errc::overloaded, fmt::format("{} others wait to say who they are, and it is the "
                                                               "oldest",
                                                               kStrangers)));
  }
}

bool TcpTransport::on_out_of_descriptors() noexcept {
  std::shared_ptr<Greeter> oldest;
  {
    const std::lock_guard lock(mutex_);
    if (greeters_.empty()) {
      return false;
    }
    oldest = greeters_.front();
    greeters_.pop_front();
  }
  end_stranger(oldest, Failure(errc::resource_exhausted, "another connection needs its file descriptor"));
  return true;
}

// Off the list, so that nobody else ends it.
void TcpTransport::end_stranger(const std::shared_ptr<Greeter>& greeter, const Failure& why) noexcept {
  greeter->end();
  Stats::add(stats_.strangers);
  node_.log().write(LogLevel::warning,
                    fmt::format("tcp: closed the connection from {}: {}", greeter->where(), why.detail()));
}

// From a greeter's own poll. Null: another thread ends it, and waits for this poll. Otherwise done_greeting() follows.
std::shared_ptr<Greeter> TcpTransport::take(Greeter& greeter) noexcept {
  const std::lock_guard lock(mutex_);
  const auto at = std::find_if(greeters_.begin(), greeters_.end(), [&](const auto& g) { return g.get() == &greeter; });
  if (at == greeters_.end()) {
    return nullptr;
  }
  auto taken = std::move(*at);
  greeters_.erase(at);
  ++greeting_;
  return taken;
}

void TcpTransport::done_greeting() noexcept {
  const std::lock_guard lock(mutex_);
  --greeting_;
  idle_.notify_all();
}

std::shared_ptr<Session> TcpTransport::on_authenticated(Greeter& greeter) noexcept {
  return sessions_.find_or_add(greeter.handshake().hello().self);
}

void TcpTransport::on_greeting_failed(Greeter& greeter, const Failure* why) noexcept {
  const auto taken = take(greeter);
  if (taken == nullptr) {
    return;
  }
  if (why != nullptr) {
    end_stranger(taken, *why);
  } else {
    taken->end();
  }
  done_greeting();
}

void TcpTransport::on_greeted(Greeter& greeter, Socket socket, ChannelBuffers buffers,
                              std::shared_ptr<Session> session) noexcept {
  const auto taken = take(greeter);
  if (taken == nullptr) {
    session->finish_takeover(nullptr);
    return;
  }
  taken->end();
  const Introduction& introduction = taken->handshake().introduction();
  Peer& peer = node_.peers().find_or_add(Contact{session->initiator(), introduction.addresses});
  std::string who = taken->where();
  if (!introduction.name.empty()) {
    peer.set_name(introduction.name);
    who = introduction.name + " at " + who;
  }
  const auto inbound = std::make_shared<TcpInbound>(node_, static_cast<InboundOwner&>(*this), session,
                                                    std::move(socket), std::move(buffers), std::move(who), context_);
  {
    const std::lock_guard lock(mutex_);
    inbounds_.push_back(inbound);
  }
  session->finish_takeover(inbound);
  if (!inbound->begin()) {
    session->forget(*inbound);
  }
  done_greeting();
}

// Leaving the list is the last thing: shut_down() waits for it, and the transport may go then.
void TcpTransport::on_inbound_ended(TcpInbound& inbound, bool for_good) noexcept {
  sessions_.orphaned(inbound.session(), for_good);
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
  std::unique_ptr<Listener> listener;
  std::list<std::shared_ptr<Greeter>> greeters;
  {
    const std::lock_guard lock(mutex_);
    shut_down_ = true;
    listener.swap(listener_);
    greeters.swap(greeters_);
  }
  if (listener != nullptr) {
    reactor_.remove(*listener);
    const std::lock_guard lock(mutex_);
    greeters.splice(greeters.end(), greeters_);  // accepted meanwhile
  }
  for (const auto& greeter : greeters) {
    greeter->end();
  }
  std::list<std::shared_ptr<TcpInbound>> inbounds;
  {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return greeting_ == 0; });
    inbounds = inbounds_;
  }
  for (const auto& inbound : inbounds) {
    inbound->end(Failure(errc::shut_down, "this node is shutting down"), true);
  }
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return inbounds_.empty(); });  // some end by themselves at this moment
}

}  // namespace ferry::tcp
