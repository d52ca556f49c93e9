#include <ferry/shm/memory_budget.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <ferry/shm/file_descriptor.hpp>

namespace ferry::shm {
namespace {

// Empty if there is no such file.
std::string read_file(const std::string& path) {
  std::string text;
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> part{};
  for (ssize_t got = 1; file && got > 0;) {
    got = ::read(file.get(), part.data(), part.size());
    text.append(part.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  }
  return text;
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end != text.data() ? std::optional(value) : std::nullopt;  // "max" is no number
}

template <class Visit>
void for_lines(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    visit(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t start = line.find_first_not_of(' ', at);
    if (start == std::string_view::npos) {
      break;
    }
    const std::size_t end = std::min(line.find(' ', start), line.size());
    words.push_back(line.substr(start, end - start));
    at = end;
  }
  return words;
}

// The number behind `name` in a file of "name value" lines; 0 if it is not there.
std::uint64_t value_of(std::string_view text, std::string_view name) {
  std::uint64_t value = 0;
  for_lines(text, [&](std::string_view line) {
    const auto words = words_of(line);
    if (words.size() >= 2 && words[0] == name) {
      value = number_in(words[1]).value_or(0);
    }
  });
  return value;
}

// What the two versions call the same things.
struct Dialect {
  const char* limit;
  const char* usage;
  const char* inactive_file;
  const char* active_file;
};
constexpr Dialect kVersion1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file",
                            "total_active_file"};
constexpr Dialect kVersion2{"memory.max", "memory.current", "inactive_file", "active_file"};

struct Hierarchy {
  const Dialect* dialect = nullptr;
  std::string mount;  // where it is mounted
  std::string root;   // what of it is mounted there
  std::string own;    // the process's path in it
};

bool has_word(std::string_view list, std::string_view word) {
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    if (list.substr(at, end - at) == word) {
      return true;
    }
    at = end + 1;
  }
  return false;
}

// proc(5): "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue"
std::vector<Hierarchy> mounted_hierarchies(std::string_view mountinfo) {
  std::vector<Hierarchy> found;
  for_lines(mountinfo, [&](std::string_view line) {
    const auto words = words_of(line);
    std::size_t dash = 6;
    while (dash < words.size() && words[dash] != "-") {
      ++dash;
    }
    if (dash + 3 >= words.size()) {
      return;
    }
    const std::string_view type = words[dash + 1];
    const bool first = type == "cgroup" && has_word(words[dash + 3], "memory");
    if (first || type == "cgroup2") {
      found.push_back({first ? &kVersion1 : &kVersion2, std::string(words[4]), std::string(words[3]), {}});
    }
  });
  return found;
}

// proc(5): "4:memory:/a/b" or, version 2, "0::/a/b".
void find_own_paths(std::string_view cgroup, std::vector<Hierarchy>& hierarchies) {
  for_lines(cgroup, [&](std::string_view line) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) {
      return;
    }
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    for (Hierarchy& hierarchy : hierarchies) {
      if (hierarchy.dialect == &kVersion2 ? controllers.empty() : has_word(controllers, "memory")) {
        hierarchy.own = line.substr(second + 1);
      }
    }
  });
}

// The process's own group below the mount. In a container the path may be told as seen from outside: then the mount
// itself is the group.
std::string relative_path(const Hierarchy& hierarchy) {
  std::string_view own = hierarchy.own;
  const std::string_view root = hierarchy.root == "/" ? std::string_view{} : std::string_view(hierarchy.root);
  if (own.substr(0, root.size()) != root || own.find("/..") != std::string_view::npos) {
    return {};
  }
  own.remove_prefix(root.size());
  return own == "/" ? std::string{} : std::string(own);
}

void take_least(MemoryRoom& least, std::uint64_t bytes, std::string limit) {
  if (bytes < least.bytes) {
    least = {bytes, std::move(limit)};
  }
}

void look_at_group(const std::string& path, const Dialect& dialect, MemoryRoom& least) {
  const auto limit = number_in(read_file(path + "/" + dialect.limit));
  const auto usage = number_in(read_file(path + "/" + dialect.usage));
  constexpr std::uint64_t kUnlimited = std::uint64_t{1} << 62;
  if (!limit || !usage || *limit >= kUnlimited) {
    return;
  }
  // Cached files give way; of those in use only half is counted on.
  const std::string statistics = read_file(path + "/memory.stat");
  const std::uint64_t gives_way =
      value_of(statistics, dialect.inactive_file) + value_of(statistics, dialect.active_file) / 2;
  const std::uint64_t taken = *usage > gives_way ? *usage - gives_way : 0;
  take_least(least, *limit > taken ? *limit - taken : 0,
             fmt::format("memory cgroup {} (limit {} bytes)", path, *limit));
}

}  // namespace

MemoryRoom MemoryBudget::room() const {
  MemoryRoom least;
  const std::string meminfo = read_file(root_ + "/proc/meminfo");
  if (meminfo.find("MemAvailable:") != std::string::npos) {
    take_least(least, value_of(meminfo, "MemAvailable:") * 1024, "memory of this host");
  }
  auto hierarchies = mounted_hierarchies(read_file(root_ + "/proc/self/mountinfo"));
  find_own_paths(read_file(root_ + "/proc/self/cgroup"), hierarchies);
  for (const Hierarchy& hierarchy : hierarchies) {
    const std::string mount = root_ + hierarchy.mount;
    for (std::string path = relative_path(hierarchy);; path.resize(path.rfind('/'))) {
      look_at_group(mount + path, *hierarchy.dialect, least);
      if (path.find('/') == std::string::npos) {
        break;
      }
    }
  }
  if (least.bytes != UINT64_MAX) {
    least.bytes = least.bytes > kMargin ? least.bytes - kMargin : 0;
  }
  return least;
}

Result<void> MemoryBudget::check(std::uint64_t bytes) const {
  const MemoryRoom free = room();
  if (bytes > free.bytes) {
    return Failure(
        errc::resource_exhausted,
        fmt::format("{} bytes of shared memory are needed and {} are free in the {}, {} MiB kept in reserve; "
                    "allocate less, free some, or raise that limit",
                    bytes, free.bytes, free.limit, kMargin >> 20));
  }
  return {};
}

}  // namespace ferry::shm
