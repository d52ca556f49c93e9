#include <ferry/tcp/control_network.hpp>

#include <utility>

#include <fmt/format.h>

#include <ferry/tcp/control_stream.hpp>
#include <ferry/tcp/proof.hpp>
#include <ferry/transport/peer.hpp>

namespace ferry::tcp {
namespace {

class Link final : public queue::ControlLink {
 public:
  explicit Link(std::shared_ptr<ControlStream> stream) noexcept : stream_(std::move(stream)) {}
  ~Link() override { stream_->close(); }

  ProcessId peer() const noexcept override { return stream_->peer(); }
  bool send(wire::Bytes&& message) noexcept override { return stream_->send(std::move(message)); }
  void close(const Failure&) noexcept override { stream_->close(); }

 private:
  const std::shared_ptr<ControlStream> stream_;
};

class StreamDialer final : public queue::ControlDialer {
 public:
  StreamDialer(const ControlStream::Context& context, TransportId transport, const Peer& peer)
      : context_(context), transport_(transport), peer_(peer) {}

  std::unique_ptr<queue::ControlLink> dial(queue::ControlEvents& events) noexcept override {
    std::vector<std::string> targets;
    for (const Address& address : peer_.contact().addresses) {
      if (address.transport == transport_) {
        targets.push_back(address.text);
      }
    }
    auto stream = std::make_shared<ControlStream>(context_, events, peer_.id());
    stream->dial(std::move(targets), memory_);
    return std::make_unique<Link>(std::move(stream));
  }

  std::string describe() const override {
    const std::lock_guard lock(memory_->mutex);
    return memory_->where.empty() ? std::string(to_string(transport_))
                                  : fmt::format("{}, set up by {}", to_string(transport_), memory_->where);
  }

 private:
  const ControlStream::Context context_;
  const TransportId transport_;
  const Peer& peer_;
  const std::shared_ptr<DialMemory> memory_ = std::make_shared<DialMemory>();
};

}  // namespace

TcpControlNetwork::TcpControlNetwork(NodeCore& node, Reactor& reactor, TransportId transport, TcpOptions options)
    : node_(node),
      transport_(transport),
      options_(std::move(options)),
      secret_(prove(node.secret(), "ferry control", {})),
      context_{reactor, node.executor(), node.limits(), stats_, node.traffic()},
      reception_(static_cast<Reception::Host&>(*this), node, secret_, std::string(to_string(transport)), context_) {}

TcpControlNetwork::~TcpControlNetwork() {
  shut_down();
}

Result<void> TcpControlNetwork::listen(queue::QueueServer& server) {
  server_ = &server;
  return reception_.listen(options_);
}

std::vector<Address> TcpControlNetwork::addresses() const {
  std::vector<Address> addresses;
  for (const Endpoint& endpoint : reception_.endpoints()) {
    addresses.push_back(Address{transport_, to_string(endpoint)});
  }
  return addresses;
}

std::unique_ptr<queue::ControlDialer> TcpControlNetwork::dialer(const Peer& peer) {
  return std::make_unique<StreamDialer>(ControlStream::Context{node_, secret_, context_}, transport_, peer);
}

void TcpControlNetwork::on_guest(Guest&& guest) noexcept {
  const auto session = guest.session;
  server_->accept([&](queue::ControlEvents& events) {
    auto stream =
        std::make_shared<ControlStream>(ControlStream::Context{node_, secret_, context_}, events, session->initiator());
    stream->begin(std::move(guest.socket), std::move(guest.buffers), guest.who);
    return std::make_unique<Link>(std::move(stream));
  });
  // The queue layer itself lets a new channel take over from the one before.
  session->finish_takeover(nullptr);
  reception_.sessions().orphaned(*session, false);
}

void TcpControlNetwork::shut_down() noexcept {
  reception_.close();
}

}  // namespace ferry::tcp
