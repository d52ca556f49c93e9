#include <ferry/mesh/node_stack.hpp>

#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <ferry/actor/actor_ref.hpp>
#include <ferry/mesh/node_actor.hpp>

namespace ferry {
namespace {

// Each phrase once, in the order of their first; "3 x …" for one that is there thrice.
std::vector<std::string> counted(const std::vector<std::string>& phrases) {
  std::vector<std::string> each;
  std::map<std::string_view, std::size_t> counts;
  for (const std::string& phrase : phrases) {
    ++counts[phrase];
  }
  for (const std::string& phrase : phrases) {
    if (const std::size_t count = std::exchange(counts[phrase], 0); count > 0) {
      each.push_back(count == 1 ? phrase : fmt::format("{} x {}", count, phrase));
    }
  }
  return each;
}

}  // namespace

NodeStack::NodeStack(Parts parts)
    : parent_(parts.bootstrap.parent),
      core_(parts.executor, parts.log, parts.bootstrap.self, parts.bootstrap.name, parts.bootstrap.secret,
            parts.bootstrap.limits),
      node_actor_class_(actor_class<NodeActor>()),
      actors_(core_, std::move(parts.classes)),
      processes_(core_, parts.host, parts.bootstrap.transports, std::move(parts.random)),
      end_(1) {
  actors_.install_node_actor(node_actor_class_, std::make_unique<NodeActor>(*this));
}

NodeStack::~NodeStack() {
  shut_down();
}

Result<void> NodeStack::start() {
  for (const auto& transport : core_.transports()) {
    if (auto listening = transport->listen(); !listening) {
      return listening;
    }
  }
  core_.peers().find_or_add(core_.contact()).set_name(core_.name());
  return {};
}

Task<void> NodeStack::serve_parent() {
  Peer& parent = core_.peers().find_or_add(parent_);
  parent.set_name("parent");
  const ActorRef<NodeActor> control(ActorAddress{&parent, ActorRuntime::kNodeActor});
  auto hello = as_result(control.call<&NodeActor::hello>(core_.contact()));
  const Result<void> known = co_await hello;
  if (!known) {
    throw Error(known.error().during("joining the process that spawned this one").with_peer(parent.describe()));
  }
  auto end = end_.next();
  co_await end;
}

std::string NodeStack::describe_waits() {
  std::vector<std::string> phrases = processes_.describe_waits();
  for (std::string& phrase : actors_.describe_waits()) {
    phrases.push_back(std::move(phrase));
  }
  for (std::string& phrase : core_.peers().describe_operations()) {
    phrases.push_back(std::move(phrase));
  }
  for (const std::uint64_t size : core_.regions().awaited()) {
    phrases.push_back(fmt::format("a notification of a buffer of {} bytes", size));
  }
  return fmt::format("{}", fmt::join(counted(phrases), "; "));
}

Task<void> NodeStack::wind_down() {
  auto children = processes_.stop_all();
  co_await children;
  auto actors = actors_.stop_all();
  co_await actors;
}

void NodeStack::shut_down() noexcept {
  if (std::exchange(shut_down_, true)) {
    return;
  }
  actors_.shut_down();
  processes_.clear();
  core_.shut_down();
}

void NodeActor::hello(const Contact& child) {
  stack_.processes().on_hello(child);
}

Task<ActorId> NodeActor::spawn_actor(ActorSpec spec) {
  return stack_.actors().spawn(std::move(spec));
}

Task<void> NodeActor::stop_actor(ActorId id) {
  return stack_.actors().stop(id, Failure(errc::actor_stopped, "it was stopped"));
}

void NodeActor::shut_down() {
  stack_.request_end();
}

}  // namespace ferry
