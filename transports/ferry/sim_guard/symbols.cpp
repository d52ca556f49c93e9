#include <ferry/sim_guard/symbols.hpp>

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <optional>
#include <span>

namespace ferry::sim_guard {
namespace {

using Header = ElfW(Ehdr);
using Section = ElfW(Shdr);
using Symbol = ElfW(Sym);

class MappedFile {
 public:
  explicit MappedFile(const char* path) {
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    struct stat state {};
    if (file >= 0 && ::fstat(file, &state) == 0 && state.st_size > 0) {
      void* const mapped = ::mmap(nullptr, static_cast<std::size_t>(state.st_size), PROT_READ, MAP_PRIVATE, file, 0);
      if (mapped != MAP_FAILED) {
        bytes_ = {static_cast<const std::byte*>(mapped), static_cast<std::size_t>(state.st_size)};
      }
    }
    if (file >= 0) {
      ::close(file);
    }
  }
  ~MappedFile() {
    if (!bytes_.empty()) {
      ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());  // NOLINT: munmap takes what mmap gave
    }
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

// A copy: nothing in a file need be aligned. None: it does not lie within the file.
template <class T>
std::optional<T> read(std::span<const std::byte> bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) {
    return std::nullopt;
  }
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::string name_at(std::span<const std::byte> bytes, const Section& names, std::uint64_t index) {
  if (names.sh_offset > bytes.size() || names.sh_size > bytes.size() - names.sh_offset || index >= names.sh_size) {
    return {};
  }
  const auto* const start = reinterpret_cast<const char*>(bytes.data()) + names.sh_offset + index;
  return {start, ::strnlen(start, names.sh_size - index)};
}

std::string look_up(std::span<const std::byte> bytes, const Section& table, const Section& names,
                    std::uintptr_t offset) {
  for (std::uint64_t at = 0; at + sizeof(Symbol) <= table.sh_size; at += sizeof(Symbol)) {
    const auto symbol = read<Symbol>(bytes, table.sh_offset + at);
    if (!symbol) {
      return {};
    }
    const bool is_function = (symbol->st_info & 0xf) == STT_FUNC && symbol->st_shndx != SHN_UNDEF;
    if (is_function && offset >= symbol->st_value && offset - symbol->st_value < symbol->st_size) {
      return name_at(bytes, names, symbol->st_name);
    }
  }
  return {};
}

}  // namespace

std::string symbol_at(const char* file, std::uintptr_t offset) {
  const MappedFile mapped(file);
  const std::span<const std::byte> bytes = mapped.bytes();
  const auto header = read<Header>(bytes, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_shentsize != sizeof(Section)) {
    return {};
  }
  const auto section = [&](std::uint64_t index) {
    return read<Section>(bytes, header->e_shoff + index * sizeof(Section));
  };
  for (std::uint64_t index = 0; index < header->e_shnum; ++index) {
    const auto table = section(index);
    if (!table || table->sh_type != SHT_SYMTAB) {
      continue;
    }
    if (const auto names = section(table->sh_link)) {
      return look_up(bytes, *table, *names, offset);
    }
  }
  return {};
}

}  // namespace ferry::sim_guard
