#include <ferry/transport/local_transport.hpp>

#include <ferry/base/limits.hpp>
#include <ferry/memory/execute.hpp>
#include <ferry/transport/node_core.hpp>
#include <ferry/transport/peer.hpp>

namespace ferry {
namespace {

// Messages to oneself do not come here: the actor runtime delivers them without a transport.
class LocalConnection final : public Connection {
 public:
  LocalConnection(NodeCore& node, ConnectionEvents& events) noexcept : node_(node), events_(events) {}

  void open() noexcept override { events_.on_open(*this); }

  Started start(Operation& operation) noexcept override {
    if (operation.region.domain == AtomicDomain::nic && is_atomic(operation.kind)) {
      operation.failure = Failure(errc::unsupported, "no NIC is attached that could execute this atomic");
      return Started::complete;
    }
    if (Result<void> done = execute(operation); !done) {
      operation.failure = done.error();
    }
    return Started::complete;
  }

  bool try_transfer(OperationKind kind, const RemoteRegion& region, std::byte* local) noexcept override {
    if (region.length > limits::kPieceBytes) {
      return false;
    }
    const RegionHandle handle{region.slot, region.generation};
    const Access needed = access_needed(kind);
    const auto pin = node_.regions().try_pin(handle, needed, region.offset, region.length);
    if (!pin) {
      return false;
    }
    if (kind == OperationKind::read) {
      copy_words(local, pin.address(), region.length);
    } else {
      copy_words(pin.address(), local, region.length);
    }
    return true;
  }

  void cancel(Operation&, const Failure&) noexcept override {}
  bool abandon(Operation&) noexcept override { return false; }
  bool send(wire::Bytes&&) noexcept override { return true; }
  void close(const Failure&) noexcept override {}
  bool pipelines_sequences() const noexcept override { return false; }
  TransportId transport() const noexcept override { return TransportId::local; }
  std::string describe() const override { return "this process itself"; }

 private:
  Result<void> execute(Operation& operation);

  NodeCore& node_;
  ConnectionEvents& events_;
};

Result<void> LocalConnection::execute(Operation& operation) {
  RegionTable& regions = node_.regions();
  const RegionHandle region{operation.region.slot, operation.region.generation};
  const std::uint64_t base = operation.region.offset;
  switch (operation.kind) {
    case OperationKind::read:
      for (const Chunk& chunk : operation.chunks()) {
        if (auto done = copy_from_region(regions, region, base + chunk.remote_offset, chunk.local, chunk.length);
            !done) {
          return done;
        }
      }
      return {};
    case OperationKind::write: {
      std::uint64_t written = 0;
      for (const Chunk& chunk : operation.chunks()) {
        if (auto done = copy_to_region(regions, region, base + chunk.remote_offset, chunk.local, chunk.length); !done) {
          return written == 0 ? done : done.error().with_effect(Effect::unknown);
        }
        written += chunk.length;
      }
      if (operation.notify) {
        if (auto told = regions.notify(region, operation.tag); !told) {
          return written == 0 ? told : told.error().with_effect(Effect::unknown);
        }
      }
      return {};
    }
    case OperationKind::fetch_add:
    case OperationKind::compare_swap:
    case OperationKind::swap: {
      auto old = atomic_on_region(regions, region, base + operation.single.remote_offset, atomic_kind(operation.kind),
                                  operation.operand, operation.expected);
      if (!old) {
        return old.error();
      }
      operation.result = *old;
      return {};
    }
    case OperationKind::flush:
      return {};
  }
  return {};
}

}  // namespace

Capabilities LocalTransport::capabilities() const {
  return {.atomics_cpu = true,
          .atomics_nic = false,
          .completes_inline = true,
          .delivered_by = "a copy in place",
          .notes = "the process's own memory"};
}

std::unique_ptr<Connection> LocalTransport::connect(const Peer& peer, ConnectionEvents& events, std::string& why) {
  if (!peer.is_self()) {
    why = "another process";
    return nullptr;
  }
  return std::make_unique<LocalConnection>(node_, events);
}

}  // namespace ferry
