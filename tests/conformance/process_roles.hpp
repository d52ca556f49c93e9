// Processes that a test starts by name rather than through ferry: a root that will be killed. Test code only.
#pragma once

#include <string_view>

namespace ferry::conformance {

inline constexpr std::string_view kRootRole = "--be-root";

// A job of its own over those transports: spawns processes, prints the pids of all on one line, and then never ends.
int be_root(std::string_view transports);

}  // namespace ferry::conformance
