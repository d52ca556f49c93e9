#include <ferry/shm/memory_file.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>

#include <fmt/format.h>

#include <ferry/shm/os_failure.hpp>

namespace ferry::shm {
namespace {

constexpr unsigned kNoExec = 0x0008;  // MFD_NOEXEC_SEAL, Linux 6.3
constexpr int kFixedSize = F_SEAL_SHRINK | F_SEAL_GROW;

FileDescriptor create_memfd(const char* name) {
  FileDescriptor descriptor(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | kNoExec));
  if (!descriptor && errno == EINVAL) {
    descriptor = FileDescriptor(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  }
  return descriptor;
}

// Address space of `size` bytes at a multiple of `alignment`, nothing mapped in it.
void* reserve_addresses(std::uint64_t size, std::size_t alignment) {
  const std::uint64_t slack = alignment > kPageBytes ? alignment : 0;
  void* at = ::mmap(nullptr, size + slack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED || slack == 0) {
    return at;
  }
  auto* const start = static_cast<std::byte*>(at);
  const std::uint64_t before = (alignment - reinterpret_cast<std::uintptr_t>(start) % alignment) % alignment;
  if (before > 0) {
    ::munmap(start, before);
  }
  if (slack > before) {
    ::munmap(start + before + size, slack - before);
  }
  return start + before;
}

// Null, with errno, if it cannot be mapped.
std::byte* map_file(int descriptor, std::uint64_t size, std::size_t alignment, int protection) {
  void* const at = reserve_addresses(size, alignment);
  if (at == MAP_FAILED) {
    return nullptr;
  }
  void* const mapped = ::mmap(at, size, protection, MAP_SHARED | MAP_FIXED, descriptor, 0);
  if (mapped == MAP_FAILED) {
    const int error = errno;
    ::munmap(at, size);
    errno = error;
    return nullptr;
  }
  ::madvise(mapped, size, MADV_DONTFORK);
  return static_cast<std::byte*>(mapped);
}

}  // namespace

MemoryFile::MemoryFile(FileDescriptor descriptor, std::byte* data, std::uint64_t size) noexcept
    : descriptor_(std::move(descriptor)), data_(data), size_(size) {}

MemoryFile::MemoryFile(MemoryFile&& other) noexcept
    : descriptor_(std::move(other.descriptor_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MemoryFile& MemoryFile::operator=(MemoryFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MemoryFile::~MemoryFile() {
  if (data_ != nullptr) {
    ::munmap(data_, size_);
  }
}

Result<MemoryFile> MemoryFile::create(const char* name, std::uint64_t size, Peers peers, std::size_t alignment) {
  const auto refused = [&](int error, const char* step) {
    return os_failure(error, fmt::format("{} {} bytes of shared memory ({})", step, size, name),
                      errc::resource_exhausted);
  };
  rlimit file_size{};
  if (::getrlimit(RLIMIT_FSIZE, &file_size) == 0 && size > file_size.rlim_cur) {  // would raise SIGXFSZ
    return Failure(errc::resource_exhausted,
                   fmt::format("{} bytes of shared memory ({}) are needed and the process's files may have {} bytes at "
                               "most; raise that limit (ulimit -f)",
                               size, name, file_size.rlim_cur));
  }
  FileDescriptor descriptor = create_memfd(name);
  if (!descriptor) {
    return refused(errno, "creating");
  }
  if (::ftruncate(descriptor.get(), static_cast<off_t>(size)) != 0) {
    return refused(errno, "sizing");
  }
  std::byte* const data = map_file(descriptor.get(), size, alignment, PROT_READ | PROT_WRITE);
  if (data == nullptr) {
    return refused(errno, "mapping");
  }
  MemoryFile file(std::move(descriptor), data, size);
  const int seals = kFixedSize | F_SEAL_SEAL | (peers == Peers::read ? F_SEAL_FUTURE_WRITE : 0);
  if (::fcntl(file.descriptor(), F_ADD_SEALS, seals) != 0) {
    return refused(errno, "sealing");
  }
  return file;
}

Result<MemoryFile> MemoryFile::map(const FileDescriptor& descriptor, std::uint64_t size, bool writable,
                                   std::string_view what) {
  const int seals = ::fcntl(descriptor.get(), F_GET_SEALS);
  struct stat status {};
  if (seals < 0 || (seals & kFixedSize) != kFixedSize || ::fstat(descriptor.get(), &status) != 0 || size == 0 ||
      static_cast<std::uint64_t>(status.st_size) < size) {
    return Failure(errc::malformed,
                   fmt::format("the peer passed as {} what is no memory file of {} bytes and fixed size", what, size));
  }
  std::byte* const data = map_file(descriptor.get(), size, kPageBytes, PROT_READ | (writable ? PROT_WRITE : 0));
  if (data == nullptr) {
    return os_failure(errno, fmt::format("mapping {} bytes of the peer's memory ({})", size, what), errc::malformed);
  }
  return MemoryFile({}, data, size);
}

Result<void> MemoryFile::reserve(std::uint64_t offset, std::uint64_t length) const noexcept {
  int outcome = 0;
  do {
    outcome = ::fallocate(descriptor_.get(), 0, static_cast<off_t>(offset), static_cast<off_t>(length));
  } while (outcome != 0 && errno == EINTR);
  if (outcome != 0) {
    return os_failure(errno, fmt::format("reserving {} bytes of shared memory", length), errc::resource_exhausted);
  }
  return {};
}

void MemoryFile::drop_pages() const noexcept {
  ::fallocate(descriptor_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(size_));
}

Result<FileDescriptor> MemoryFile::open_read_only() const {
  FileDescriptor opened(::open(fmt::format("/proc/self/fd/{}", descriptor_.get()).c_str(), O_RDONLY | O_CLOEXEC));
  if (!opened) {
    return os_failure(errno, "opening shared memory for readers (through /proc, which must be mounted)",
                      errc::unsupported);
  }
  return opened;
}

}  // namespace ferry::shm
