#include <ferry/sim/litmus/runner/files.hpp>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>

#include <fmt/format.h>

#include <ferry/sim/litmus/limits.hpp>
#include <ferry/sim/litmus/parser.hpp>

namespace ferry::sim::litmus::runner {
namespace {

struct Close {
  void operator()(std::FILE* file) const noexcept { static_cast<void>(std::fclose(file)); }
};
using File = std::unique_ptr<std::FILE, Close>;

Failure failure(std::string_view what, std::string_view path, int error, std::string_view remedy = "") {
  return Failure(errc::invalid_argument, fmt::format("cannot {} {}: {}{}", what, path, std::strerror(error), remedy));
}

Result<std::string> read_file(const std::string& path) {
  const File file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) {
    return failure("open", path, errno);
  }
  std::string text;
  std::array<char, 65536> part;
  // One byte more than the parser takes, so that it says so.
  while (text.size() <= kMaxFileSize) {
    const std::size_t got = std::fread(part.data(), 1, part.size(), file.get());
    text.append(part.data(), got);
    if (got < part.size()) {
      break;
    }
  }
  if (std::ferror(file.get()) != 0) {
    return failure("read", path, errno);
  }
  return text;
}

}  // namespace

Result<std::vector<Program>> read_tests(const std::vector<std::string>& files) {
  std::vector<Program> programs;
  for (const std::string& path : files) {
    const auto text = read_file(path);
    if (!text) {
      return text.error();
    }
    auto parsed = parse(path, *text);
    if (!parsed) {
      return parsed.error();
    }
    std::move(parsed->begin(), parsed->end(), std::back_inserter(programs));
  }
  return programs;
}

Result<void> make_directory(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (!error && !std::filesystem::is_directory(directory, error) && !error) {
    error = std::make_error_code(std::errc::not_a_directory);
  }
  if (error) {
    return failure("make the directory", directory, error.value(), "; give --svg a directory that can be written");
  }
  return {};
}

Result<void> write_file(const std::string& path, std::string_view contents) {
  File file(std::fopen(path.c_str(), "wb"));
  if (file == nullptr) {
    return failure("write", path, errno, "; give --svg a directory that can be written");
  }
  const bool is_written = std::fwrite(contents.data(), 1, contents.size(), file.get()) == contents.size();
  const int write_error = errno;
  if (std::fclose(file.release()) != 0 || !is_written) {
    return failure("write", path, is_written ? errno : write_error);
  }
  return {};
}

}  // namespace ferry::sim::litmus::runner
