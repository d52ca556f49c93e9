// MeshError: an operation on a mesh that failed on some ranks: every failed rank with its cause, after all have ended.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <ferry/base/failure.hpp>
#include <ferry/mesh/shape.hpp>

namespace ferry {

struct RankFailure {
  std::size_t rank = 0;
  std::string where;  // "gpus=2"
  Failure failure{};
};

class MeshError : public Error {
 public:
  // failures: at least one, in the order of ranks. The Error itself has the first one's code, tells all, and has effect
  // `none` only if every failure has; on ranks that are not among them the operation has taken effect.
  MeshError(std::size_t ranks, std::vector<RankFailure> failures);

  const std::vector<RankFailure>& failures() const noexcept { return failures_; }

 private:
  std::vector<RankFailure> failures_;
};

}  // namespace ferry
