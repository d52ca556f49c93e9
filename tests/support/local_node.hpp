// LocalNode: a CoreNode on the threads of a real program's executor. For tests of core above the transports.
#pragma once

#include <memory>

#include <ferry/system/system_executor.hpp>

#include <core_node.hpp>

namespace ferry::test {

template <>
struct NewExecutor<system::SystemExecutor> {
  static std::unique_ptr<system::SystemExecutor> make() { return system::SystemExecutor::create().value(); }
};

using LocalNode = CoreNode<system::SystemExecutor>;

}  // namespace ferry::test
