#include <ferry/shm/peer_process.hpp>

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

#include <ferry/shm/os_failure.hpp>

namespace ferry::shm {

Result<PeerProcess> PeerProcess::of_socket(int socket) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return os_failure(errno, "asking who is at the other end of a unix socket", errc::peer_unreachable);
  }
  if (credentials.uid != ::geteuid()) {
    return Failure(errc::not_authorised,
                   fmt::format("the process at the other end (PID {}) belongs to user {}, this one to user {}; shared "
                               "memory is for processes of one user",
                               credentials.pid, credentials.uid, ::geteuid()));
  }
  FileDescriptor pidfd(static_cast<int>(::syscall(SYS_pidfd_open, credentials.pid, 0)));
  if (!pidfd) {
    return os_failure(errno,
                      fmt::format("watching the process at the other end (PID {}; 0: it is in another PID namespace)",
                                  credentials.pid),
                      errc::peer_unreachable);
  }
  return PeerProcess(credentials.pid, std::move(pidfd));
}

bool PeerProcess::has_ended() const noexcept {
  pollfd state{pidfd_.get(), POLLIN, 0};
  return ::poll(&state, 1, 0) > 0;
}

}  // namespace ferry::shm
