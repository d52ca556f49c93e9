// launch: starts one program with its bootstrap and pipes, by vfork and exec (decision 11).
//
// Called on a thread that lives as long as the children shall: the kernel kills a child when the thread that started it
// ends (PR_SET_PDEATHSIG). Between vfork and exec the child makes nothing but system calls. It inherits descriptors 0
// and 1, its stderr pipe as 2, the bootstrap and the death pipe, and no other.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <ferry/base/result.hpp>
#include <ferry/process/process_host.hpp>
#include <ferry/system/file_descriptor.hpp>

namespace ferry::system {

struct Launched {
  pid_t pid = -1;
  FileDescriptor pidfd;        // none: it has ended already and its status is lost
  FileDescriptor stderr_pipe;  // what the child writes to stderr; non-blocking
  FileDescriptor death_pipe;   // kept open as long as the child shall live
};

// Returns when the program runs. mask: the signals that the child begins with blocked. spawn_failed with what was run
// and why; resource_exhausted.
Result<Launched> launch(const SpawnRequest& request, const sigset_t& mask);

}  // namespace ferry::system
