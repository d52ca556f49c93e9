// PeerProcess: the process at the other end of a unix socket, held by a pidfd: dead means the pidfd is readable.
//
// Move-only. The number of a process can be used again, a pidfd stays with its process; so whoever uses the number for
// something asks has_ended() afterwards.
#pragma once

#include <sys/types.h>

#include <ferry/base/result.hpp>
#include <ferry/shm/file_descriptor.hpp>

namespace ferry::shm {

class PeerProcess {
 public:
  // not_authorised if it belongs to another user; peer_unreachable if it cannot be seen from here (another PID
  // namespace) or has ended. The kernel vouches for the number (SO_PEERCRED); that the process still was the one at the
  // socket when the pidfd was opened is shown by what arrives through the socket later.
  static Result<PeerProcess> of_socket(int socket);

  pid_t pid() const noexcept { return pid_; }
  int descriptor() const noexcept { return pidfd_.get(); }
  // One system call.
  bool has_ended() const noexcept;

 private:
  PeerProcess(pid_t pid, FileDescriptor pidfd) noexcept : pid_(pid), pidfd_(std::move(pidfd)) {}

  pid_t pid_;
  FileDescriptor pidfd_;
};

}  // namespace ferry::shm
