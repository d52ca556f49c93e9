// Node: ferry inside a program that has a main of its own: libraries, other runtimes, MPI programs. A Context without
// owning children's argv, signals or the process's end.
//
//   ferry::Node node({.transports = "auto"}, ferry::actors<Worker>);
//   node.block_on(work(node.context()));
//
// Made and destroyed outside of tasks; any thread may call block_on. Several may live in one process.
#pragma once

#include <memory>

#include <ferry/base/block_on.hpp>
#include <ferry/run/real_node.hpp>

namespace ferry {

class Node {
 public:
  // Throws Error: address_in_use, invalid_argument, resource_exhausted, …
  template <class... T>
  explicit Node(const NodeOptions& options = {}, ActorList<T...> classes = {}) : Node(options, classes.classes()) {}
  Node(const NodeOptions& options, std::vector<ActorClass> classes);

  Context context() noexcept { return node_->context(); }

  // Runs the task on this node and waits for its end.
  template <class T>
  T block_on(Task<T> task) {
    return ferry::block_on(node_->executor(), &context().node(), std::move(task));
  }

 private:
  std::unique_ptr<RealNode> node_;
};

// Waits for one operation or call from outside of any coroutine, on the node that it belongs to.
template <class A>
requires requires(A& awaitable) {
  awaitable.peer();
}
auto block_on(A awaitable) {
  NodeCore& node = awaitable.peer()->node();
  return ferry::block_on(node.executor(), &node, detail::as_task(std::move(awaitable)));
}

}  // namespace ferry
