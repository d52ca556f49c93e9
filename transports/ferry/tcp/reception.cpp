#include <ferry/tcp/reception.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace ferry::tcp {
namespace {

Result<std::vector<SocketAddress>> listen_points(const TcpOptions& options) {
  if (!options.host.empty()) {
    auto host = host_from_string(options.host);
    if (!host) {
      return host.error();
    }
    return resolve(Endpoint{std::move(*host), options.port});
  }
  std::vector<SocketAddress> points;
  for (const char* host : {"127.0.0.1", "::1"}) {
    if (auto point = socket_address(Endpoint{host, options.port})) {
      points.push_back(*point);
    }
  }
  return points;
}

}  // namespace

Reception::Reception(Host& host, NodeCore& node, const JobSecret& secret, std::string label,
                     const Channel::Context& context)
    : host_(host), node_(node), secret_(secret), label_(std::move(label)), context_(context) {}

Reception::~Reception() {
  close();
}

Result<void> Reception::listen(const TcpOptions& options) {
  const auto points = listen_points(options);
  if (!points) {
    return points.error();
  }
  Failure why(errc::invalid_argument, fmt::format("listening on {}: the name has no address", options.host));
  std::unique_ptr<Listener> listener;
  for (const SocketAddress& point : *points) {
    auto made = Listener::create(static_cast<ListenerEvents&>(*this), node_.log(), context_.stats, point);
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
  endpoints_ = std::move(endpoints);
  listener_ = std::move(listener);
  context_.reactor.add(*listener_);
  return {};
}

std::vector<Endpoint> Reception::endpoints() const {
  const std::lock_guard lock(mutex_);
  return endpoints_;
}

std::size_t Reception::strangers() const {
  const std::lock_guard lock(mutex_);
  return greeters_.size();
}

void Reception::on_accepted(Socket socket, const SocketAddress& from) noexcept {
  try {
    greet(std::move(socket), from);
  } catch (const std::bad_alloc&) {
    node_.log().write(LogLevel::error, label_ + ": there is no memory to take a connection, which was closed");
  }
}

void Reception::greet(Socket socket, const SocketAddress& from) {
  auto handshake = OwnerHandshake::create(secret_, node_.self());
  if (!handshake) {
    node_.log().write(LogLevel::error, label_ + ": " + handshake.error().detail());
    return;
  }
  const auto greeter = std::make_shared<Greeter>(static_cast<GreeterEvents&>(*this), context_, std::move(socket),
                                                 to_string(endpoint_of(from)), std::move(*handshake), node_.name());
  std::shared_ptr<Greeter> oldest;
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_) {
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

bool Reception::on_out_of_descriptors() noexcept {
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
void Reception::end_stranger(const std::shared_ptr<Greeter>& greeter, const Failure& why) noexcept {
  greeter->end();
  Stats::add(context_.stats.strangers);
  node_.log().write(LogLevel::warning,
                    fmt::format("{}: closed the connection from {}: {}", label_, greeter->where(), why.detail()));
}

// From a greeter's own poll. Null: another thread ends it, and waits for this poll. Otherwise done_greeting() follows.
std::shared_ptr<Greeter> Reception::take(Greeter& greeter) noexcept {
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

void Reception::done_greeting() noexcept {
  const std::lock_guard lock(mutex_);
  --greeting_;
  idle_.notify_all();
}

std::shared_ptr<Session> Reception::on_authenticated(Greeter& greeter) noexcept {
  return sessions_.find_or_add(greeter.handshake().hello().self);
}

void Reception::on_greeting_failed(Greeter& greeter, const Failure* why) noexcept {
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

void Reception::on_greeted(Greeter& greeter, Socket socket, ChannelBuffers buffers,
                           std::shared_ptr<Session> session) noexcept {
  const auto taken = take(greeter);
  if (taken == nullptr) {
    session->finish_takeover(nullptr);
    return;
  }
  taken->end();
  const Introduction& introduction = taken->handshake().introduction();
  std::string who = taken->where();
  if (!introduction.name.empty()) {
    who = introduction.name + " at " + who;
  }
  host_.on_guest(Guest{std::move(socket), std::move(buffers), std::move(session), std::move(who),
                       introduction.addresses, introduction.name});
  done_greeting();
}

void Reception::close() noexcept {
  std::unique_ptr<Listener> listener;
  std::list<std::shared_ptr<Greeter>> greeters;
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    listener.swap(listener_);
    greeters.swap(greeters_);
  }
  if (listener != nullptr) {
    context_.reactor.remove(*listener);
    const std::lock_guard lock(mutex_);
    greeters.splice(greeters.end(), greeters_);  // accepted meanwhile
  }
  for (const auto& greeter : greeters) {
    greeter->end();
  }
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return greeting_ == 0; });
}

}  // namespace ferry::tcp
