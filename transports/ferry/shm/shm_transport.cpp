#include <ferry/shm/shm_transport.hpp>

#include <utility>

#include <ferry/shm/shm_connection.hpp>
#include <ferry/shm/shm_listener.hpp>
#include <ferry/shm/shm_node.hpp>
#include <ferry/transport/peer.hpp>

namespace ferry::shm {

class ShmTransport::Machine final : private SegmentObserver {
 public:
  Machine(NodeCore& core, Reactor& reactor, std::shared_ptr<OwnBoard> board, std::unique_ptr<Poller> poller,
          const SegmentOptions& options)
      : node_{core, std::move(board), std::make_shared<SegmentAllocator>(MemoryBudget{}, options), std::move(poller)},
        listener_(std::make_shared<ShmListener>(node_)),
        reactor_(reactor) {
    node_.allocator->set_observer(this);
    reactor_.add(*node_.poller);
  }

  void shut_down() noexcept {
    if (std::exchange(shut_down_, true)) {
      return;
    }
    node_.allocator->set_observer(nullptr);
    listener_->shut_down();
    reactor_.remove(*node_.poller);
    node_.poller->clear();
    node_.poller->wait_for_retired();
  }

  ShmNode& node() noexcept { return node_; }
  ShmListener& listener() noexcept { return *listener_; }

 private:
  void on_segment_gone(std::uint32_t segment) noexcept override { listener_->retire_segment(segment); }

  ShmNode node_;
  std::shared_ptr<ShmListener> listener_;
  Reactor& reactor_;
  bool shut_down_ = false;
};

ShmTransport::ShmTransport(std::unique_ptr<Machine> machine) noexcept : machine_(std::move(machine)) {}

ShmTransport::~ShmTransport() {
  shut_down();
}

Result<std::unique_ptr<ShmTransport>> ShmTransport::create(NodeCore& node, Reactor& reactor,
                                                           const ShmOptions& options) {
  auto board = OwnBoard::create();
  if (!board) {
    return board.error();
  }
  auto doorbell = OwnDoorbell::create();
  if (!doorbell) {
    return doorbell.error();
  }
  auto shared_board = std::make_shared<OwnBoard>(std::move(*board));
  auto poller = Poller::create(shared_board, std::move(*doorbell), reactor);
  if (!poller) {
    return poller.error();
  }
  SegmentOptions segments;
  segments.reserve = options.reserve;
  return std::unique_ptr<ShmTransport>(new ShmTransport(
      std::make_unique<Machine>(node, reactor, std::move(shared_board), std::move(*poller), segments)));
}

Capabilities ShmTransport::capabilities() const {
  return {.atomics_cpu = true,
          .atomics_nic = false,
          .completes_inline = true,
          .delivered_by = "a copy in place",
          .notes = "processes of the same host and user; fastest on memory of ferry::allocate"};
}

Result<void> ShmTransport::listen() {
  return machine_->listener().listen();
}

MemoryDomain* ShmTransport::memory() noexcept {
  return &machine_->node().domain;
}

std::unique_ptr<Connection> ShmTransport::connect(const Peer& peer, ConnectionEvents& events, std::string& why) {
  if (peer.is_self()) {
    why = "the process itself";
    return nullptr;
  }
  return std::make_unique<ShmConnection>(machine_->node(), peer, events);
}

void ShmTransport::shut_down() noexcept {
  machine_->shut_down();
}

std::shared_ptr<SharedMemory> ShmTransport::shared_memory() const noexcept {
  return machine_->node().allocator;
}

void ShmTransport::fence(ProcessId peer) noexcept {
  machine_->listener().fence(peer);
}

ShmStats ShmTransport::stats() const noexcept {
  ShmNode& node = machine_->node();
  const auto read = [](const std::atomic<std::uint64_t>& counter) { return counter.load(std::memory_order_relaxed); };
  return {node.readers.entries(),        read(node.counters.foreign_reads),
          read(node.counters.commands),  read(node.counters.commands_served),
          read(node.counters.doorbells), read(node.counters.mapped_segments),
          machine_->listener().size(),   node.domain.busy_revocations()};
}

}  // namespace ferry::shm
