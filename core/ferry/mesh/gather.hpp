// gather: awaits one thing per rank, all at once; waits for every one, then gives the values or throws MeshError.
#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <ferry/base/start.hpp>
#include <ferry/mesh/mesh_error.hpp>
#include <ferry/transport/peer.hpp>

namespace ferry::detail {

// The outcome of each, in the order of ranks. They begin in that order.
template <class A, class R = await_result_t<A>>
Task<std::vector<Result<R>>> outcomes_of(std::vector<A> awaitables) {
  std::vector<Running<Result<R>>> started;
  started.reserve(awaitables.size());
  for (A& awaitable : awaitables) {
    started.emplace_back(as_task(as_result(std::move(awaitable))));
  }
  std::vector<Result<R>> outcomes;
  outcomes.reserve(started.size());
  for (Running<Result<R>>& one : started) {
    Result<R> outcome = co_await one;
    outcomes.push_back(std::move(outcome));
  }
  co_return outcomes;
}

// Tells failures of the calls that ferry makes on behalf of `operation` as the user's own: what was asked, and where.
// peers: of each rank.
template <class R>
void tell_as(std::string_view operation, const std::vector<Peer*>& peers, std::vector<Result<R>>& outcomes) {
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    if (!outcomes[rank]) {
      outcomes[rank] = outcomes[rank].error().during(operation).with_peer(peers[rank]->describe());
    }
  }
}

// Throws MeshError if some failed.
template <class R>
void require_all(const Shape& shape, const std::vector<Result<R>>& outcomes) {
  std::vector<RankFailure> failures;
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    if (!outcomes[rank]) {
      failures.push_back({rank, shape.describe(rank), outcomes[rank].error()});
    }
  }
  if (!failures.empty()) {
    throw MeshError(outcomes.size(), std::move(failures));
  }
}

template <class A, class R = await_result_t<A>>
Task<std::vector<NotVoid<R>>> gather(Shape shape, std::vector<A> awaitables) {
  auto all = outcomes_of(std::move(awaitables));
  std::vector<Result<R>> outcomes = co_await all;
  require_all(shape, outcomes);
  std::vector<NotVoid<R>> values;
  values.reserve(outcomes.size());
  for (Result<R>& outcome : outcomes) {
    if constexpr (std::is_void_v<R>) {
      values.emplace_back();
    } else {
      values.push_back(std::move(*outcome));
    }
  }
  co_return values;
}

}  // namespace ferry::detail
