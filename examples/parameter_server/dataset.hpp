// The digits: rows of 64 pixels (0 to 16) and a label. Split the same way in every process: row i is held out when
// i mod 5 = 4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace parameter_server {

inline constexpr std::size_t kPixels = 64;
inline constexpr std::size_t kClasses = 10;

struct Row {
  float pixels[kPixels];  // 0 to 1
  std::uint8_t label;
};

// Where digits.csv is: in the source tree, below the working directory or beside the program's build directory, or
// where it was installed with the program; the first of these that exists.
std::string default_data();

class Dataset {
 public:
  // Throws std::runtime_error naming file, line and what is wrong there.
  static Dataset load(const std::string& path);

  std::span<const Row> training() const noexcept { return training_; }
  std::span<const Row> held_out() const noexcept { return held_out_; }

 private:
  std::vector<Row> training_;
  std::vector<Row> held_out_;
};

}  // namespace parameter_server
