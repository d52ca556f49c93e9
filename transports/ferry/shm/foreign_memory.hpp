// ForeignMemory: reads memory of another process that is in no segment, through the kernel.
//
// Up to kSmall bytes by pread on the process's memory file, opened once (it stays with that process), beyond by
// process_vm_readv, whose process number is confirmed by the pidfd after the copy. Any thread; within a Reading. Where
// the kernel denies both (Yama, seccomp) the answer is `denied` for ever: the owner's polling thread then serves reads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include <ferry/shm/file_descriptor.hpp>
#include <ferry/shm/peer_process.hpp>

namespace ferry::shm {

class ForeignMemory {
 public:
  static constexpr std::uint64_t kSmall = 4096;  // bytes

  explicit ForeignMemory(const PeerProcess& process) noexcept : process_(process) {}

  enum class Outcome : unsigned char {
    done,
    denied,    // nothing was read and nothing ever will be
    ended,     // the process is gone
    unmapped,  // it has no memory there (or this process none to copy to)
  };
  // At most limits::kPieceBytes. `calls` counts system calls.
  Outcome read(std::uint64_t address, std::byte* local, std::uint64_t length,
               std::atomic<std::uint64_t>& calls) noexcept;

  bool is_denied() const noexcept { return denied_.load(std::memory_order_relaxed); }

 private:
  int file() noexcept;
  Outcome read_vm(std::uint64_t address, std::byte* local, std::uint64_t length) noexcept;

  static constexpr int kUnopened = -1;
  static constexpr int kNone = -2;

  const PeerProcess& process_;
  std::atomic<bool> denied_{false};
  std::atomic<int> file_number_{kUnopened};
  std::mutex mutex_;
  FileDescriptor file_;
};

}  // namespace ferry::shm
