#include <ferry/mesh/process_tree.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>

#include <fmt/format.h>

#include <ferry/actor/actor_ref.hpp>
#include <ferry/base/offload.hpp>
#include <ferry/base/start.hpp>
#include <ferry/mesh/gather.hpp>
#include <ferry/mesh/node_actor.hpp>
#include <ferry/transport/node_core.hpp>

namespace ferry {

// One started process. Its events: said hello (nullopt), then ended.
struct ProcessTree::Child final : ChildEvents {
  Child(NodeCore& node, ProcessId identity, std::string given)
      : peer(node.peers().find_or_add(identity)), id(identity), name(std::move(given)), events(4) {
    peer.set_name(name);
  }

  void on_exit(const ProcessExit& exit) noexcept override {
    const std::string text = fmt::format("{} {}", name, exit.to_text());
    peer.declare_gone(Failure(errc::peer_lost, "the process " + text));
    events.try_push(exit);
  }

  Peer& peer;
  const ProcessId id;
  const std::string name;
  std::atomic<bool> has_said_hello{false};
  Channel<std::optional<ProcessExit>> events;
  std::unique_ptr<ChildProcess> process;
};

ProcessTree::ProcessTree(NodeCore& node, ProcessHost& host, std::string transports,
                         std::function<std::uint64_t()> random)
    : node_(node), host_(host), transports_(std::move(transports)), random_(std::move(random)) {}

ProcessTree::~ProcessTree() {
  clear();
}

void ProcessTree::clear() noexcept {
  std::vector<std::shared_ptr<Child>> children;
  {
    const std::lock_guard lock(mutex_);
    children.swap(children_);
  }
}

Task<std::vector<Peer*>> ProcessTree::spawn(Shape shape, SpawnOptions options) {
  std::vector<Task<Peer*>> spawns;
  std::vector<Peer*> started;
  for (std::size_t rank = 0; rank < shape.ranks(); ++rank) {
    const ProcessId id{random_() | 1U, random_()};
    auto child = std::make_shared<Child>(node_, id, fmt::format("{}/{}", node_.name(), shape.describe(rank)));
    started.push_back(&child->peer);
    {
      const std::lock_guard lock(mutex_);
      children_.push_back(child);
    }
    spawns.push_back(spawn_one(std::move(child), options));
  }
  std::optional<MeshError> failed;
  try {
    auto all = detail::gather(shape, std::move(spawns));
    co_return co_await all;
  } catch (const MeshError& error) {
    failed.emplace(error);
  }
  auto undo = stop(started);
  co_await undo;
  throw *failed;
}

Task<Peer*> ProcessTree::spawn_one(std::shared_ptr<Child> child, SpawnOptions options) {
  SpawnRequest request;
  request.program = options.program;
  request.arguments.assign(options.arguments.begin(), options.arguments.end());
  request.bootstrap = Bootstrap{node_.secret(), child->id, child->name, node_.contact(), transports_, node_.limits()};
  auto begin = offload([this, &request, &child] { return host_.start(request, *child); });
  auto process = co_await begin;
  if (!process) {
    forget(*child);
    throw Error(process.error().during("spawn_procs").with_peer(child->name));
  }
  child->process = std::move(*process);
  const Limits limits{options.timeout.value_or(node_.limits().no_progress), {}};
  auto hello = as_result(child->events.next(limits));
  auto event = co_await hello;
  const std::string what = request.program.empty() ? "this executable" : request.program;
  if (!event) {
    child->process->kill();
    const std::string how =
        event.error().code() == errc::timed_out
            ? fmt::format("did not connect within {} ms; is it a ferry program?",
                          std::chrono::duration_cast<std::chrono::milliseconds>(*limits.timeout).count())
            : "was still starting when the spawn was cancelled";
    throw Error(Failure(event.error().code(), fmt::format("{} was started and {}", what, how))
                    .during("spawn_procs")
                    .with_peer(child->name));
  }
  if (event->has_value()) {
    forget(*child);
    throw Error(Failure(errc::spawn_failed, fmt::format("{} {}", what, (*event)->to_text()))
                    .during("spawn_procs")
                    .with_peer(child->name));
  }
  co_return &child->peer;
}

std::vector<std::string> ProcessTree::describe_waits() const {
  std::vector<std::string> phrases;
  for (const auto& child : children_) {
    if (!child->has_said_hello) {
      phrases.push_back(fmt::format("the hello of the child {}", child->name));
    }
  }
  return phrases;
}

void ProcessTree::on_hello(const Contact& contact) {
  if (const auto child = find(contact.id)) {
    child->peer.learn(contact.addresses);
    if (!child->has_said_hello.exchange(true)) {  // its end must find room
      child->events.try_push(std::nullopt);
    }
  }
}

std::shared_ptr<ProcessTree::Child> ProcessTree::find(ProcessId id) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(children_.begin(), children_.end(), [id](const auto& child) { return child->id == id; });
  return found == children_.end() ? nullptr : *found;
}

void ProcessTree::forget(const Child& child) {
  std::shared_ptr<Child> last;  // destroyed without the lock: waits for the process
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(children_.begin(), children_.end(), [&](const auto& known) { return known.get() == &child; });
  if (found != children_.end()) {
    last = std::move(*found);
    children_.erase(found);
  }
}

Task<void> ProcessTree::stop_one(std::shared_ptr<Child> child) {
  if (child->process != nullptr) {
    const ActorRef<NodeActor> control(ActorAddress{&child->peer, ActorRuntime::kNodeActor});
    static_cast<void>(control.try_send<&NodeActor::shut_down>());
    const Limits limits{node_.limits().failure_detection, {}};
    for (bool ended = false; !ended;) {
      auto next = as_result(child->events.next(limits));
      const auto event = co_await next;
      ended = !event || event->has_value();
    }
  }
  forget(*child);
}

Task<void> ProcessTree::stop(std::vector<Peer*> peers) {
  std::vector<Running<void>> stopping;
  for (const Peer* peer : peers) {
    if (auto child = find(peer->id())) {
      stopping.emplace_back(stop_one(std::move(child)));
    }
  }
  for (Running<void>& one : stopping) {
    co_await one;
  }
}

Task<void> ProcessTree::stop_all() {
  std::vector<Peer*> peers;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& child : children_) {
      peers.push_back(&child->peer);
    }
  }
  auto all = stop(std::move(peers));
  co_await all;
}

}  // namespace ferry
