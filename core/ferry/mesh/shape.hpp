// Shape: the named dimensions of a mesh: `{{"hosts", 2}, {"gpus", 4}}`. Ranks count row by row: the last dimension
// fastest.
//
// A trivially copyable value (it stands in braces inside awaits). One to eight dimensions of at least one each.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ferry {

class Dimension {
 public:
  static constexpr std::size_t kMaxName = 31;  // bytes

  constexpr Dimension() noexcept = default;
  // Throws Error (invalid_argument): name empty or too long, size not at least 1.
  Dimension(std::string_view name, std::integral auto size)
      : Dimension(name, size < 1 ? std::size_t{0} : static_cast<std::size_t>(size), Checked{}) {}

  std::string_view name() const noexcept { return {name_.data(), name_size_}; }
  std::size_t size() const noexcept { return size_; }

 private:
  struct Checked {};
  Dimension(std::string_view name, std::size_t size, Checked);

  std::array<char, kMaxName> name_{};
  unsigned char name_size_ = 0;
  std::size_t size_ = 1;
};

// The rank. Throws Error (invalid_argument) unless it is below `ranks`.
std::size_t check_rank(std::size_t rank, std::size_t ranks);

class Shape {
 public:
  static constexpr std::size_t kMaxDimensions = 8;
  static constexpr std::size_t kMaxRanks = std::size_t{1} << 20;

  // One rank, no dimension.
  constexpr Shape() noexcept = default;
  // Throws Error (invalid_argument): two dimensions of the same name, or more than kMaxRanks ranks.
  // Spelled out, because a braced list in an await must not become an initializer_list (g++ 12).
  Shape(Dimension a) : Shape(std::array{a}) {}  // NOLINT: implicit, for {{"gpus", 4}}
  Shape(Dimension a, Dimension b) : Shape(std::array{a, b}) {}
  Shape(Dimension a, Dimension b, Dimension c) : Shape(std::array{a, b, c}) {}
  Shape(Dimension a, Dimension b, Dimension c, Dimension d) : Shape(std::array{a, b, c, d}) {}
  Shape(Dimension a, Dimension b, Dimension c, Dimension d, Dimension e) : Shape(std::array{a, b, c, d, e}) {}
  Shape(Dimension a, Dimension b, Dimension c, Dimension d, Dimension e, Dimension f)
      : Shape(std::array{a, b, c, d, e, f}) {}
  Shape(Dimension a, Dimension b, Dimension c, Dimension d, Dimension e, Dimension f, Dimension g)
      : Shape(std::array{a, b, c, d, e, f, g}) {}
  Shape(Dimension a, Dimension b, Dimension c, Dimension d, Dimension e, Dimension f, Dimension g, Dimension h)
      : Shape(std::array{a, b, c, d, e, f, g, h}) {}

  std::size_t dimensions() const noexcept { return count_; }
  const Dimension& dimension(std::size_t index) const { return dimensions_.at(index); }
  std::size_t ranks() const noexcept;

  // "gpus=2" or "hosts=1,gpus=3": where a rank lies; for people.
  std::string describe(std::size_t rank) const;

  // The ranks whose coordinate in the named dimension is `index`, in order, and the shape without that dimension.
  // Throws Error (invalid_argument, invalid_range) naming what there is.
  std::vector<std::size_t> ranks_at(std::string_view name, std::size_t index) const;
  Shape without(std::string_view name) const;

 private:
  template <std::size_t N>
  explicit Shape(const std::array<Dimension, N>& dimensions) : count_(N) {
    for (std::size_t index = 0; index < N; ++index) {
      dimensions_[index] = dimensions[index];
    }
    check();
  }
  void check() const;
  std::size_t find(std::string_view name) const;

  std::array<Dimension, kMaxDimensions> dimensions_{};
  std::size_t count_ = 0;
};

}  // namespace ferry
