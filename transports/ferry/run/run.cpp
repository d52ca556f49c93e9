#include <ferry/run/run.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>

#include <fmt/format.h>

#include <ferry/base/block_on.hpp>
#include <ferry/run/real_node.hpp>
#include <ferry/system/inherited_bootstrap.hpp>

namespace ferry {
namespace {

constexpr int kFailed = 1;

// One clear line, as every program of this library ends that failed.
int report(std::string_view what) {
  // lint: allow(print) a program's last line, when it has no node any more
  fmt::print(stderr, "ferry: {}\n", what);
  std::fflush(stderr);
  return kFailed;
}

int report_exception() {
  try {
    throw;
  } catch (const std::exception& error) {
    return report(error.what());
  } catch (...) {
    return report("an exception that is not derived from std::exception");
  }
}

// A spawned process: serves its parent and ends.
[[noreturn]] void serve(const NodeOptions& options, const Bootstrap& bootstrap, std::vector<ActorClass> classes) {
  NodeOptions own = options;
  own.port = 0;  // a fixed port is the root's
  int status = 0;
  try {
    auto node = RealNode::create(own, bootstrap, std::move(classes));
    if (!node) {
      status = report(node.error().to_text());
    } else {
      block_on((*node)->executor(), &(*node)->stack().core(), (*node)->stack().serve_parent());
    }
  } catch (...) {
    status = report_exception();
  }
  std::exit(status);
}

// Returns in a process that nobody spawned, or with what is wrong about its claim to have been.
Failure serve_if_spawned(const NodeOptions& options, const std::vector<ActorClass>& classes) {
  const auto inherited = system::inherited_bootstrap();
  if (!inherited) {
    return inherited.error();
  }
  if (inherited->has_value()) {
    serve(options, **inherited, classes);
  }
  return {};
}

// Owns the callable's coroutine while it runs, then ends the children.
Task<int> run_root(RealNode& node, std::function<Task<int>(Context&)>& program) {
  Context context = node.context();
  std::exception_ptr exception;
  int status = kFailed;
  try {
    auto running = program(context);
    status = co_await running;
  } catch (...) {
    exception = std::current_exception();
  }
  auto stopping = node.stack().wind_down();
  co_await stopping;
  if (exception) {
    std::rethrow_exception(exception);
  }
  co_return status;
}

}  // namespace

bool is_child() noexcept {
  return system::is_child();
}

namespace detail {

void serve_if_child(const NodeOptions& options, const std::vector<ActorClass>& classes) {
  if (const Failure refused = serve_if_spawned(options, classes)) {
    throw Error(refused.during("serve_if_child"));
  }
}

int run_program(const NodeOptions& options, std::vector<ActorClass> classes,
                std::function<Task<int>(Context&)> program) {
  if (const Failure refused = serve_if_spawned(options, classes)) {
    return report(refused.to_text());
  }
  auto bootstrap = root_bootstrap(options);
  if (!bootstrap) {
    return report(bootstrap.error().to_text());
  }
  try {
    auto node = RealNode::create(options, *bootstrap, std::move(classes));
    if (!node) {
      return report(node.error().to_text());
    }
    return block_on((*node)->executor(), &(*node)->stack().core(), run_root(**node, program));
  } catch (...) {
    return report_exception();
  }
}

}  // namespace detail
}  // namespace ferry
