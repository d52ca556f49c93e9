#include <ferry/mesh/shape.hpp>

#include <algorithm>

#include <fmt/format.h>

#include <ferry/base/failure.hpp>

namespace ferry {
namespace {

[[noreturn]] void refuse(errc code, std::string why) {
  throw Error(Failure(code, std::move(why)).during("shape"));
}

}  // namespace

Dimension::Dimension(std::string_view name, std::size_t size, Checked) : size_(size) {
  if (name.empty() || name.size() > kMaxName) {
    refuse(errc::invalid_argument,
           fmt::format("a dimension's name has 1 to {} bytes; \"{}\" has {}", kMaxName, name, name.size()));
  }
  if (size < 1) {
    refuse(errc::invalid_argument, fmt::format("dimension \"{}\" needs a size of at least 1", name));
  }
  std::copy(name.begin(), name.end(), name_.begin());
  name_size_ = static_cast<unsigned char>(name.size());
}

std::size_t Shape::ranks() const noexcept {
  std::size_t ranks = 1;
  for (std::size_t index = 0; index < count_; ++index) {
    ranks *= dimensions_[index].size();
  }
  return ranks;
}

void Shape::check() const {
  std::size_t ranks = 1;
  for (std::size_t index = 0; index < count_; ++index) {
    const Dimension& dimension = dimensions_[index];
    if (dimension.size() > kMaxRanks / ranks) {
      refuse(errc::invalid_argument, fmt::format("a mesh has at most {} ranks", kMaxRanks));
    }
    ranks *= dimension.size();
    for (std::size_t before = 0; before < index; ++before) {
      if (dimensions_[before].name() == dimension.name()) {
        refuse(errc::invalid_argument, fmt::format("two dimensions are named \"{}\"", dimension.name()));
      }
    }
  }
}

std::size_t check_rank(std::size_t rank, std::size_t ranks) {
  if (rank >= ranks) {
    throw Error(Failure(errc::invalid_argument, fmt::format("rank {} of a mesh of {}", rank, ranks)));
  }
  return rank;
}

std::string Shape::describe(std::size_t rank) const {
  std::string text;
  std::size_t stride = ranks();
  for (std::size_t index = 0; index < count_; ++index) {
    const Dimension& dimension = dimensions_[index];
    stride /= dimension.size();
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", dimension.name(), rank / stride % dimension.size());
  }
  return text;
}

std::size_t Shape::find(std::string_view name) const {
  std::string known;
  for (std::size_t index = 0; index < count_; ++index) {
    if (dimensions_[index].name() == name) {
      return index;
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", dimensions_[index].name());
  }
  refuse(errc::invalid_argument, fmt::format("no dimension is named \"{}\"; there are: {}", name, known));
}

std::vector<std::size_t> Shape::ranks_at(std::string_view name, std::size_t index) const {
  const std::size_t found = find(name);
  const std::size_t size = dimensions_[found].size();
  if (index >= size) {
    refuse(errc::invalid_range, fmt::format("dimension \"{}\" has the indices 0 to {}, not {}", name, size - 1, index));
  }
  std::size_t stride = 1;
  for (std::size_t inner = found + 1; inner < count_; ++inner) {
    stride *= dimensions_[inner].size();
  }
  std::vector<std::size_t> selected;
  for (std::size_t rank = 0; rank < ranks(); ++rank) {
    if (rank / stride % size == index) {
      selected.push_back(rank);
    }
  }
  return selected;
}

Shape Shape::without(std::string_view name) const {
  Shape rest = *this;
  const std::size_t found = find(name);
  std::copy(rest.dimensions_.begin() + static_cast<std::ptrdiff_t>(found) + 1,
            rest.dimensions_.begin() + static_cast<std::ptrdiff_t>(count_),
            rest.dimensions_.begin() + static_cast<std::ptrdiff_t>(found));
  --rest.count_;
  rest.dimensions_[rest.count_] = Dimension();
  return rest;
}

}  // namespace ferry
