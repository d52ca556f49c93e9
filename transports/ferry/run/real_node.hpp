// RealNode: one node of a real program, composed: executor threads, log, process host, transports, NodeStack.
//
// The one place that knows all of them. Owner: Node or run(). Made and destroyed outside of tasks.
#pragma once

#include <memory>
#include <vector>

#include <ferry/mesh/node_stack.hpp>
#include <ferry/mesh/proc_mesh.hpp>
#include <ferry/process/bootstrap.hpp>
#include <ferry/run/node_options.hpp>

namespace ferry {

class RealNode {
 public:
  // bootstrap: of a child, as inherited; or made by root_bootstrap().
  static Result<std::unique_ptr<RealNode>> create(const NodeOptions& options, const Bootstrap& bootstrap,
                                                  std::vector<ActorClass> classes);
  ~RealNode();
  RealNode(const RealNode&) = delete;
  RealNode& operator=(const RealNode&) = delete;

  Context context() noexcept;
  NodeStack& stack() noexcept;
  Executor& executor() noexcept;
  bool is_driven_from_outside() const noexcept;
  // See Node.
  int fd() const noexcept;
  bool poll() noexcept;

 private:
  struct Parts;
  explicit RealNode(std::unique_ptr<Parts> parts) noexcept;

  std::unique_ptr<Parts> parts_;
};

// A new identity and, unless a secret file is given, a new job.
Result<Bootstrap> root_bootstrap(const NodeOptions& options);

}  // namespace ferry
