// MemoryFile: a sealed memfd and this process's mapping of it: memory that can be shown to other processes by passing
// its descriptor.
//
// Move-only; whoever owns it decides when it is unmapped. Its size never changes (F_SEAL_SHRINK, F_SEAL_GROW; checked
// on those that come from a peer), so touching the mapping never raises SIGBUS. Not inherited by fork()
// (MADV_DONTFORK). What others write into it may be anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ferry/base/result.hpp>
#include <ferry/shm/file_descriptor.hpp>

namespace ferry::shm {

// The processor's page; a constant on every platform that ferry runs on.
inline constexpr std::size_t kPageBytes = 4096;

constexpr std::uint64_t round_up_to_pages(std::uint64_t bytes) noexcept {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

class MemoryFile {
 public:
  MemoryFile() noexcept = default;
  MemoryFile(MemoryFile&& other) noexcept;
  MemoryFile& operator=(MemoryFile&& other) noexcept;
  ~MemoryFile();

  // What peers may do with the file.
  enum class Peers : unsigned char {
    read,   // no mapping but the creator's can write
    write,  // those that get descriptor() can
  };

  // A new file of `size` bytes (a multiple of the page), mapped for reading and writing at a multiple of `alignment` (a
  // power of two). Holds zeros and no pages yet: see reserve(). resource_exhausted.
  static Result<MemoryFile> create(const char* name, std::uint64_t size, Peers peers,
                                   std::size_t alignment = kPageBytes);

  // Maps what a peer passed; keeps no descriptor. malformed if it is no memfd that can neither shrink nor grow, of at
  // least `size` bytes.
  static Result<MemoryFile> map(const FileDescriptor& descriptor, std::uint64_t size, bool writable,
                                std::string_view what);

  std::byte* data() const noexcept { return data_; }
  std::uint64_t size() const noexcept { return size_; }
  int descriptor() const noexcept { return descriptor_.get(); }
  explicit operator bool() const noexcept { return data_ != nullptr; }

  // Gives [offset, offset + length) its pages now. The caller has checked that there is room (MemoryBudget): past the
  // limit of a cgroup the kernel kills instead of refusing. resource_exhausted.
  Result<void> reserve(std::uint64_t offset, std::uint64_t length) const noexcept;
  // Gives all pages back, also while peers still map them: they read zeros from then on.
  void drop_pages() const noexcept;

  // Another descriptor of the file, which can be mapped for reading only.
  Result<FileDescriptor> open_read_only() const;

 private:
  MemoryFile(FileDescriptor descriptor, std::byte* data, std::uint64_t size) noexcept;

  FileDescriptor descriptor_;
  std::byte* data_ = nullptr;
  std::uint64_t size_ = 0;
};

}  // namespace ferry::shm
