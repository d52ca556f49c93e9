// What a spawned process finds: its Bootstrap in a sealed memory file, and the death pipe of its parent. An environment
// variable holds the numbers of the two descriptors and nothing else.
#pragma once

#include <optional>

#include <ferry/base/result.hpp>
#include <ferry/process/bootstrap.hpp>

namespace ferry::system {

// "MEMORY_FILE,DEATH_PIPE".
inline constexpr const char* kBootstrapVariable = "FERRY_BOOTSTRAP_FDS";

// True in a process that was started by an OsProcessHost.
bool is_child() noexcept;

// Reads the Bootstrap once: closes the file, removes the variable, and from then on ends this process (SIGKILL) when
// the parent's end of the death pipe closes. nullopt in a process that nobody of the job has started. malformed: the
// variable or the file is not ours.
Result<std::optional<Bootstrap>> inherited_bootstrap();

}  // namespace ferry::system
