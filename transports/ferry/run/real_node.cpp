#include <ferry/run/real_node.hpp>

#include <fmt/format.h>

#include <ferry/base/limits.hpp>
#include <ferry/run/router.hpp>
#include <ferry/run/secret_file.hpp>
#include <ferry/shm/shm_transport.hpp>
#include <ferry/system/os_process_host.hpp>
#include <ferry/system/random_bytes.hpp>
#include <ferry/system/spdlog_sink.hpp>
#include <ferry/system/system_executor.hpp>
#include <ferry/tcp/control_network.hpp>
#include <ferry/tcp/transport.hpp>
#include <ferry/transport/local_transport.hpp>

#ifdef FERRY_HAS_VERBS
#include <ferry/verbs/verbs_transport.hpp>
#endif

namespace ferry {
namespace {

std::uint64_t random64() {
  std::uint64_t bits = 0;
  system::random_bytes(std::as_writable_bytes(std::span(&bits, 1)));
  return bits;
}

Result<void> add_transport(NodeCore& core, system::SystemExecutor& executor, TransportId transport,
                           const NodeOptions& options) {
  switch (transport) {
    case TransportId::local:
      core.add_transport(std::make_unique<LocalTransport>(core));
      return {};
    case TransportId::shm: {
      auto shm = shm::ShmTransport::create(core, executor);
      if (!shm) {
        return shm.error();
      }
      core.set_shared_memory((*shm)->shared_memory());
      core.add_transport(std::move(*shm));
      return {};
    }
#ifdef FERRY_HAS_VERBS
    case TransportId::verbs: {
      auto links = std::make_unique<tcp::TcpControlNetwork>(core, executor, TransportId::verbs,
                                                            tcp::TcpOptions{.host = options.host, .port = 0});
      auto verbs = verbs::VerbsTransport::create(core, executor, std::move(links), options.verbs);
      if (!verbs) {
        return verbs.error();
      }
      core.add_transport(std::move(*verbs));
      return {};
    }
#endif
    default:
      core.add_transport(
          std::make_unique<tcp::TcpTransport>(core, executor, tcp::TcpOptions{options.host, options.port}));
      return {};
  }
}

}  // namespace

// In the order of destruction from below: the stack and its transports end before what they run on.
struct RealNode::Parts {
  explicit Parts(const Bootstrap& bootstrap) : log(bootstrap.name) {}

  bool driven_from_outside = false;
  system::SpdlogSink log;
  std::unique_ptr<system::SystemExecutor> executor;
  std::unique_ptr<system::OsProcessHost> host;
  std::unique_ptr<NodeStack> stack;
};

RealNode::RealNode(std::unique_ptr<Parts> parts) noexcept : parts_(std::move(parts)) {}

RealNode::~RealNode() {
  if (!parts_->executor->is_of_this_process()) {
    // In a fork: the threads that all of it would wait for are the parent's. The copy is left as it is.
    static_cast<void>(parts_.release());
    return;
  }
  parts_->stack->shut_down();
}

Result<std::unique_ptr<RealNode>> RealNode::create(const NodeOptions& options, const Bootstrap& bootstrap,
                                                   std::vector<ActorClass> classes) {
  if (options.threads > limits::kExecutorThreads) {
    return Failure(
        errc::invalid_argument,
        fmt::format("NodeOptions::threads is {}; choose 1 to {}, or 0 for as many as there are cores, at most 4",
                    options.threads, limits::kExecutorThreads));
  }
  const auto order = parse_transports(bootstrap.transports);
  if (!order) {
    return order.error();
  }
  auto parts = std::make_unique<Parts>(bootstrap);
  auto executor =
      system::SystemExecutor::create({.threads = options.threads, .driven_from_outside = options.driven_from_outside});
  if (!executor) {
    return executor.error();
  }
  parts->driven_from_outside = options.driven_from_outside;
  parts->executor = std::move(*executor);
  auto host = system::OsProcessHost::create();
  if (!host) {
    return host.error();
  }
  parts->host = std::move(*host);
  parts->stack = std::make_unique<NodeStack>(
      NodeStack::Parts{*parts->executor, parts->log, *parts->host, bootstrap, std::move(classes), &random64});
  NodeCore& core = parts->stack->core();
  for (const TransportId transport : *order) {
    if (auto added = add_transport(core, *parts->executor, transport, options); !added) {
      if (bootstrap.transports != "auto") {
        return added.error();
      }
      parts->log.write(LogLevel::warning, fmt::format("without {}: {}", to_string(transport), added.error().to_text()));
    }
  }
  if (auto started = parts->stack->start(); !started) {
    return started.error();
  }
  return std::unique_ptr<RealNode>(new RealNode(std::move(parts)));
}

Context RealNode::context() noexcept {
  return Context(*parts_->stack);
}

NodeStack& RealNode::stack() noexcept {
  return *parts_->stack;
}

Executor& RealNode::executor() noexcept {
  return *parts_->executor;
}

bool RealNode::is_driven_from_outside() const noexcept {
  return parts_->driven_from_outside;
}

int RealNode::fd() const noexcept {
  return parts_->executor->fd();
}

bool RealNode::poll() noexcept {
  return parts_->executor->poll();
}

namespace {

// Failure: what stands against them; none: nothing does.
Failure refused_limits(const NodeLimits& limits) {
  constexpr std::size_t kSmallestFrame = 4096;  // ferry's own messages fit
  const auto refuse = [](std::string why) { return Failure(errc::invalid_argument, "NodeOptions::limits: " + why); };
  if (limits.frame_bytes < kSmallestFrame || limits.frame_bytes > UINT32_MAX) {
    return refuse(fmt::format("frame_bytes is {}; choose {} to {}", limits.frame_bytes, kSmallestFrame, UINT32_MAX));
  }
  for (const auto& [name, value] : {std::pair{"heartbeat", limits.heartbeat}, {"handshake", limits.handshake}}) {
    if (value < std::chrono::milliseconds(1)) {
      return refuse(fmt::format("{} is {} ns; choose 1 ms or more", name, value.count()));
    }
  }
  if (limits.failure_detection < 2 * limits.heartbeat) {
    return refuse(fmt::format("failure_detection is {} ns; choose at least two heartbeats, {} ns",
                              limits.failure_detection.count(), 2 * limits.heartbeat.count()));
  }
  for (const auto& [name, value] :
       {std::pair{"no_progress", limits.no_progress}, {"quiet_grace", limits.quiet_grace}}) {
    if (value < Duration::zero()) {
      return refuse(fmt::format("{} is {} ns; choose zero or more", name, value.count()));
    }
  }
  return {};
}

}  // namespace

Result<Bootstrap> root_bootstrap(const NodeOptions& options) {
  Bootstrap bootstrap;
  bootstrap.self = {random64() | 1U, random64()};
  bootstrap.name = options.name;
  bootstrap.transports = options.transports;
  bootstrap.limits = options.limits;
  if (const Failure refused = refused_limits(options.limits)) {
    return refused;
  }
  if (options.secret_file.empty()) {
    system::random_bytes(std::span(bootstrap.secret));
    return bootstrap;
  }
  auto secret = read_secret_file(options.secret_file);
  if (!secret) {
    return secret.error();
  }
  bootstrap.secret = *secret;
  return bootstrap;
}

}  // namespace ferry
