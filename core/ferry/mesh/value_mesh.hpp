// ValueMesh<R>: one value per rank of a mesh: what a call on all gives.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <ferry/mesh/shape.hpp>

namespace ferry {

template <class R>
class ValueMesh {
 public:
  ValueMesh(const Shape& shape, std::vector<R> values) : shape_(shape), values_(std::move(values)) {}

  const Shape& shape() const noexcept { return shape_; }
  std::size_t size() const noexcept { return values_.size(); }
  // const R& and R&, except for bool, which std::vector keeps as bits. Throw Error (invalid_argument) where there is no
  // such rank.
  typename std::vector<R>::const_reference operator[](std::size_t rank) const {
    return values_[check_rank(rank, size())];
  }
  typename std::vector<R>::reference operator[](std::size_t rank) { return values_[check_rank(rank, size())]; }
  auto begin() const noexcept { return values_.begin(); }
  auto end() const noexcept { return values_.end(); }

 private:
  Shape shape_;
  std::vector<R> values_;
};

}  // namespace ferry
