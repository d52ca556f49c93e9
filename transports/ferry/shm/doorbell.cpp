#include <ferry/shm/doorbell.hpp>

#include <fcntl.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <cstdint>

#include <ferry/shm/os_failure.hpp>

namespace ferry::shm {

Result<OwnDoorbell> OwnDoorbell::create() {
  FileDescriptor eventfd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!eventfd) {
    return os_failure(errno, "creating a doorbell (eventfd)", errc::resource_exhausted);
  }
  return OwnDoorbell(std::move(eventfd));
}

void OwnDoorbell::drain() const noexcept {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(eventfd_.get(), &count, sizeof count);
}

Result<PeerDoorbell> PeerDoorbell::adopt(FileDescriptor descriptor) {
  const int flags = ::fcntl(descriptor.get(), F_GETFL);
  if (flags < 0 || (flags & O_NONBLOCK) == 0) {
    return Failure(errc::malformed, "the peer passed as doorbell a descriptor that blocks");
  }
  return PeerDoorbell(std::move(descriptor));
}

void PeerDoorbell::ring() const noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t sent = ::write(eventfd_.get(), &one, sizeof one);  // full: it is ringing already
}

}  // namespace ferry::shm
