// gather: awaits one thing per rank, all at once; waits for every one, then gives the values or throws MeshError.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include <ferry/base/start.hpp>
#include <ferry/buffer/transfer.hpp>
#include <ferry/mesh/mesh_error.hpp>

namespace ferry::detail {

template <class A>
Task<Result<typename A::value_type>> outcome_of(A awaitable) {
  auto outcome = as_result(std::move(awaitable));
  co_return co_await outcome;
}

template <class A, class R = typename A::value_type>
Task<std::vector<NotVoid<R>>> gather(Shape shape, std::vector<A> awaitables) {
  std::vector<Running<Result<R>>> started;
  started.reserve(awaitables.size());
  for (A& awaitable : awaitables) {
    started.emplace_back(outcome_of(std::move(awaitable)));
  }
  std::vector<NotVoid<R>> values;
  std::vector<RankFailure> failures;
  values.reserve(started.size());
  for (std::size_t rank = 0; rank < started.size(); ++rank) {
    Result<R> outcome = co_await started[rank];
    if (!outcome) {
      failures.push_back({rank, shape.describe(rank), outcome.error()});
    } else if constexpr (std::is_void_v<R>) {
      values.emplace_back();
    } else {
      values.push_back(std::move(*outcome));
    }
  }
  if (!failures.empty()) {
    throw MeshError(started.size(), std::move(failures));
  }
  co_return values;
}

}  // namespace ferry::detail
