#include <ferry/run/node.hpp>

#include <ferry/system/inherited_bootstrap.hpp>

namespace ferry {

Node::Node(const NodeOptions& options, std::vector<ActorClass> classes) {
  if (system::has_bootstrap_waiting()) {
    throw Error(Failure(errc::invalid_argument,
                        "this process was spawned by another to serve it; call ferry::serve_if_child(ferry::actors<…>) "
                        "(or ferry::run) in main before a Node is made")
                    .during("node"));
  }
  auto bootstrap = root_bootstrap(options);
  if (!bootstrap) {
    throw Error(bootstrap.error().during("node"));
  }
  auto node = RealNode::create(options, *bootstrap, std::move(classes));
  if (!node) {
    throw Error(node.error().during("node"));
  }
  node_ = std::move(*node);
}

int Node::fd() const {
  require_driven("fd");
  return node_->fd();
}

bool Node::poll() {
  require_driven("poll");
  return node_->poll();
}

void Node::require_driven(const char* attempted) const {
  if (!node_->is_driven_from_outside()) {
    throw Error(Failure(errc::invalid_argument,
                        "this node has threads of its own; make it with NodeOptions::driven_from_outside")
                    .during(attempted));
  }
}

}  // namespace ferry
