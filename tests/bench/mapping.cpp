#include "mapping.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include <fmt/format.h>

namespace ferry_bench {
namespace {

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

Mapping::Mapping(int descriptor, std::size_t bytes) : descriptor_(descriptor) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor, 0);
  if (memory == MAP_FAILED) {
    fail("mmap");
  }
  memory_ = {static_cast<std::byte*>(memory), bytes};
}

Mapping Mapping::create(std::size_t bytes) {
  const int descriptor = ::memfd_create("ferry-bench", MFD_CLOEXEC);
  if (descriptor < 0 || ::ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) {
    fail("memfd_create");
  }
  Mapping mapping(descriptor, bytes);
  std::memset(mapping.memory_.data(), 1, bytes);
  return mapping;
}

Mapping Mapping::open(const MappingName& name) {
  const std::string path = fmt::format("/proc/{}/fd/{}", name.process, name.descriptor);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) {
    fail("open of the other's memory");
  }
  return Mapping(descriptor, name.bytes);
}

Mapping::~Mapping() {
  if (descriptor_ >= 0) {
    ::munmap(memory_.data(), memory_.size());
    ::close(descriptor_);
  }
}

MappingName Mapping::name() const noexcept {
  return {static_cast<std::int32_t>(::getpid()), descriptor_, memory_.size()};
}

}  // namespace ferry_bench
