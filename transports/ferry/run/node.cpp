#include <ferry/run/node.hpp>

namespace ferry {

Node::Node(const NodeOptions& options, std::vector<ActorClass> classes) {
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

}  // namespace ferry
