#include <ferry/sim/node_program.hpp>

#include <exception>
#include <utility>

#include <fmt/format.h>

#include <ferry/base/limits.hpp>
#include <ferry/sim/world.hpp>

namespace ferry::sim {

NodeProgram::NodeProgram(Process& process, std::vector<ActorClass> classes, Main main)
    : process_(process),
      main_(std::move(main)),
      stack_(NodeStack::Parts{process.executor(), process.log(), process.host(), process.bootstrap(),
                              std::move(classes),
                              [&process] { return process.world().random(Purpose::identity).next(); }}),
      context_(stack_),
      strand_(process.executor(), &stack_.core()) {
  process.add_transport(stack_.core());
  stack_.start().value();
  root_.emplace(strand_, run(), &NodeProgram::done, this);
  root_->post();
}

NodeProgram::~NodeProgram() {
  root_.reset();  // its frames refer to actors
  stack_.shut_down();
}

std::string NodeProgram::waits_for() const {
  const std::string waits = context_.stack().describe_waits();
  const char* const role = stack_.is_child() ? "serves its parent" : "its main task has not ended";
  return waits.empty() ? role : fmt::format("{}; waits for {}", role, waits);
}

Task<int> NodeProgram::run() {
  int status = 0;
  std::exception_ptr exception;
  try {
    if (stack_.is_child()) {
      auto serving = stack_.serve_parent();
      co_await serving;
    } else {
      auto running = main_(context_);
      status = co_await running;
    }
  } catch (...) {
    exception = std::current_exception();
  }
  auto ending = stack_.wind_down();
  co_await ending;
  if (exception) {
    std::rethrow_exception(exception);
  }
  co_return status;
}

void NodeProgram::done(ferry::detail::RootTask<int>& root, void* user) noexcept {
  Process& process = static_cast<NodeProgram*>(user)->process_;
  try {
    process.exit(root.take());
  } catch (...) {
    process.exit(1, describe_exception(std::current_exception(), limits::kExceptionText));
  }
}

Entry node_entry(std::vector<ActorClass> classes, NodeProgram::Main main) {
  return [classes = std::move(classes), main = std::move(main)](Process& process) {
    return std::make_unique<NodeProgram>(process, classes, main);
  };
}

}  // namespace ferry::sim
