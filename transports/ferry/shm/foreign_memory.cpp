#include <ferry/shm/foreign_memory.hpp>

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

namespace ferry::shm {

// The memory file; kNone if it cannot be opened.
int ForeignMemory::file() noexcept {
  const int known = file_number_.load(std::memory_order_acquire);
  if (known != kUnopened) [[likely]] {
    return known;
  }
  const std::lock_guard lock(mutex_);
  if (file_number_.load(std::memory_order_relaxed) == kUnopened) {
    FileDescriptor opened(::open(fmt::format("/proc/{}/mem", process_.pid()).c_str(), O_RDONLY | O_CLOEXEC));
    if (opened && !process_.has_ended()) {  // else the number may be another's already
      file_ = std::move(opened);
    }
    file_number_.store(file_ ? file_.get() : kNone, std::memory_order_release);
  }
  return file_number_.load(std::memory_order_relaxed);
}

ForeignMemory::Outcome ForeignMemory::read(std::uint64_t address, std::byte* local, std::uint64_t length,
                                           std::atomic<std::uint64_t>& calls) noexcept {
  calls.fetch_add(1, std::memory_order_relaxed);
  if (length <= kSmall) {
    if (const int memory = file(); memory >= 0) {
      const ssize_t got = ::pread(memory, local, length, static_cast<off_t>(address));
      if (got == static_cast<ssize_t>(length)) [[likely]] {
        return Outcome::done;
      }
      if (got == 0 || process_.has_ended()) {
        return Outcome::ended;
      }
      return Outcome::unmapped;
    }
  }
  return read_vm(address, local, length);
}

ForeignMemory::Outcome ForeignMemory::read_vm(std::uint64_t address, std::byte* local, std::uint64_t length) noexcept {
  for (std::uint64_t done = 0; done < length;) {
    const iovec to{local + done, length - done};
    const iovec from{reinterpret_cast<void*>(address + done), length - done};
    const ssize_t got = ::process_vm_readv(process_.pid(), &to, 1, &from, 1, 0);
    if (got > 0) {
      done += static_cast<std::uint64_t>(got);
      continue;
    }
    const int error = errno;
    // No such process: its memory is gone already, while its end is about to be told.
    if ((got < 0 && error == ESRCH) || process_.has_ended()) {
      return Outcome::ended;
    }
    if (got < 0 && (error == EPERM || error == EACCES || error == ENOSYS)) {
      denied_.store(true, std::memory_order_relaxed);
      return Outcome::denied;
    }
    return Outcome::unmapped;
  }
  return process_.has_ended() ? Outcome::ended : Outcome::done;
}

}  // namespace ferry::shm
