// deny_memory_of_others(): as Yama's default (Ubuntu) or a container's profile does to siblings.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <iterator>

namespace ferry::test {

// From now on the kernel lets no thread of this process read another's memory: no memory file, no process_vm_readv. For
// good. False: there is no seccomp.
inline bool deny_memory_of_others() {
  const auto refuse = [](int error) { return SECCOMP_RET_ERRNO | static_cast<unsigned>(error); };
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 2, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, refuse(EPERM)),
      BPF_STMT(BPF_RET | BPF_K, refuse(EACCES)),
  };
  sock_fprog program{static_cast<unsigned short>(std::size(code)), code};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

}  // namespace ferry::test
