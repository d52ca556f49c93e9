// Node: ferry inside a program that has a main of its own: libraries, other runtimes, MPI programs. A Context without
// owning children's argv, signals or the process's end.
//
//   int main() {
//     ferry::serve_if_child(ferry::actors<Worker>);  // only for programs that call spawn_procs()
//     ferry::Node node({.transports = "auto"}, ferry::actors<Worker>);
//     node.block_on(work(node.context()));
//   }
//
// A process that such a program spawns is the same program again, from main: what stands before serve_if_child() runs
// in it too.
//
// A program with an event loop of its own gives the node its turns, and ferry starts no threads:
//
//   ferry::Node node({.driven_from_outside = true}, ferry::actors<Worker>);
//   loop.when_readable(node.fd(), [&] { node.poll(); });
//
// Made and destroyed outside of tasks; any thread may call block_on. Several may live in one process.
#pragma once

#include <memory>

#include <ferry/base/block_on.hpp>
#include <ferry/run/real_node.hpp>
#include <ferry/run/run.hpp>
#include <ferry/transport/peer.hpp>

namespace ferry {

class Node {
 public:
  // Throws Error: address_in_use, resource_exhausted, …; invalid_argument also in a process that was spawned to serve
  // another and has not called run() or serve_if_child(), where each would spawn the next.
  template <class... T>
  explicit Node(const NodeOptions& options = {}, ActorList<T...> classes = {}) : Node(options, classes.classes()) {}
  Node(const NodeOptions& options, std::vector<ActorClass> classes);

  Context context() noexcept { return node_->context(); }

  // With NodeOptions::driven_from_outside; otherwise they throw Error (invalid_argument).
  // fd: readable (poll, epoll, Asio's stream_descriptor) when poll() has something to do; stays the node's, which reads
  // and arms it. poll: runs what is ready for a bounded time and never waits; true if there was anything. One thread at
  // a time, not from inside a task.
  int fd() const;
  bool poll();

  // Runs the task on this node and waits for its end. Driven from outside, the caller polls meanwhile.
  template <class T>
  T block_on(Task<T> task) {
    return ferry::block_on(node_->executor(), &context().node(), std::move(task));
  }

 private:
  void require_driven(const char* attempted) const;

  std::unique_ptr<RealNode> node_;
};

// Waits for one operation or call from outside of any coroutine, on the node that it belongs to.
template <class A>
requires requires(A& awaitable) {
  awaitable.peer();
}
auto block_on(A awaitable) {
  if (awaitable.peer() == nullptr) {
    throw Error(empty_reference().during("block_on"));
  }
  NodeCore& node = awaitable.peer()->node();
  return ferry::block_on(node.executor(), &node, detail::as_task(std::move(awaitable)));
}

}  // namespace ferry
