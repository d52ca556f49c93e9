#include <ferry/transport/node_core.hpp>

#include <utility>

#include <ferry/base/strand.hpp>
#include <ferry/transport/peer.hpp>

namespace ferry {

NodeCore::NodeCore(Executor& executor, Log& log, ProcessId self, std::string name, const JobSecret& secret,
                   const NodeLimits& limits)
    : executor_(executor),
      log_(log),
      self_(self),
      name_(std::move(name)),
      secret_(secret),
      limits_(limits),
      regions_(self.incarnation & 0x0000ffffffffffffULL),
      peers_(std::make_unique<PeerTable>(*this)) {}

NodeCore::~NodeCore() {
  shut_down();
}

NodeCore* NodeCore::current() noexcept {
  const Strand* strand = Strand::current();
  return strand == nullptr ? nullptr : strand->node();
}

void NodeCore::add_transport(std::unique_ptr<Transport> transport) {
  transports_.push_back(std::move(transport));
}

Contact NodeCore::contact() const {
  Contact contact{self_, {}};
  for (const auto& transport : transports_) {
    for (Address& address : transport->addresses()) {
      contact.addresses.push_back(std::move(address));
    }
  }
  return contact;
}

void NodeCore::shut_down() noexcept {
  if (std::exchange(shut_down_, true)) {
    return;
  }
  peers_->shut_down();
  for (const auto& transport : transports_) {
    transport->shut_down();
  }
  under_way_.close(executor_);  // without peers everything ends
}

}  // namespace ferry
