// What the scenarios about errors compare texts with. README.md says which code is provoked where. Test code only.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include <ferry/transport/peer.hpp>

#include "scenario.hpp"

namespace ferry::conformance {

// How node 0 names another in its errors, once they have met: "process 1f3/00c0ffee (node 1)".
inline std::string named(Cluster& cluster, std::size_t node) {
  return cluster.node(0).peers().find_or_add(cluster.node(node).self()).describe();
}

// What a statement throws.
template <class F>
Failure thrown_by(F&& statement) {
  try {
    statement();
  } catch (const Error& error) {
    return error.failure();
  }
  return {};
}

inline void expect_failure(const Failure& failure, Effect effect, std::string_view text) {
  if (!failure) {
    ADD_FAILURE() << "it succeeded; expected was \"" << text << '"';
    return;
  }
  EXPECT_EQ(failure.to_text(), text);
  EXPECT_EQ(failure.effect(), effect) << text;
}

}  // namespace ferry::conformance
