// What a spawned process finds: its Bootstrap in a sealed memory file, and the death pipe of its parent. An environment
// variable holds the numbers of the two descriptors and nothing else.
//
// Owner: the process; called early in main, before there are threads that use the environment.
#pragma once

#include <fcntl.h>

#include <optional>

#include <ferry/base/result.hpp>
#include <ferry/process/bootstrap.hpp>

namespace ferry::system {

// "MEMORY_FILE,DEATH_PIPE".
inline constexpr const char* kBootstrapVariable = "FERRY_BOOTSTRAP_FDS";

// What the parent has sealed: nobody can change the file any more.
inline constexpr int kBootstrapSeals = F_SEAL_SEAL | F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;

// True in a process that was started by an OsProcessHost.
bool is_child() noexcept;

// True until the Bootstrap has been read.
bool has_bootstrap_waiting() noexcept;

// Reads the Bootstrap once: closes the file, removes the variable, and from then on ends this process (SIGKILL) when
// the parent's end of the death pipe closes. nullopt in a process that nobody of the job has started, and in a second
// call. malformed: the variable or its descriptors are not ours, which are then left alone.
Result<std::optional<Bootstrap>> inherited_bootstrap();

}  // namespace ferry::system
