#include "dataset.hpp"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>

namespace parameter_server {
namespace {

// Reads "a,b,…,label"; throws with the place of the first mistake.
Row parse_row(const std::string& line, const std::string& place) {
  Row row{};
  const char* at = line.data();
  const char* const end = line.data() + line.size();
  for (std::size_t column = 0; column <= kPixels; ++column) {
    int value = 0;
    const auto parsed = std::from_chars(at, end, value);
    const int limit = column < kPixels ? 16 : static_cast<int>(kClasses) - 1;
    if (parsed.ec != std::errc() || value < 0 || value > limit) {
      throw std::runtime_error(fmt::format("{}: column {} must be an integer from 0 to {}", place, column + 1, limit));
    }
    if (column < kPixels) {
      row.pixels[column] = static_cast<float>(value) / 16.0F;
    } else {
      row.label = static_cast<std::uint8_t>(value);
    }
    at = parsed.ptr;
    if (at != end && (*at == ',' || *at == '\r')) {
      ++at;
    }
  }
  if (at != end) {
    throw std::runtime_error(fmt::format("{}: more than {} columns", place, kPixels + 1));
  }
  return row;
}

}  // namespace

std::string default_data() {
  const std::filesystem::path in_tree = "examples/parameter_server/digits.csv";
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  for (const auto& place : {in_tree, program / "../../.." / in_tree, program / "../share/ferry/digits.csv"}) {
    if (std::filesystem::is_regular_file(place, error)) {
      return place.lexically_normal().string();
    }
  }
  return in_tree.string();
}

Dataset Dataset::load(const std::string& path) {
  std::ifstream file(path);
  std::error_code error;
  if (!file || std::filesystem::is_directory(path, error)) {
    throw std::runtime_error(fmt::format("{}: cannot be read; name the digits with --data", path));
  }
  Dataset data;
  std::string line;
  for (std::size_t index = 0; std::getline(file, line); ++index) {
    const Row row = parse_row(line, fmt::format("{}:{}", path, index + 1));
    (index % 5 == 4 ? data.held_out_ : data.training_).push_back(row);
  }
  if (data.training_.empty() || data.held_out_.empty()) {
    throw std::runtime_error(fmt::format("{}: needs at least 5 rows", path));
  }
  return data;
}

}  // namespace parameter_server
