// ActorMesh<T>: an actor of one class on each process of a mesh. A value: copying it copies references.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <ferry/actor/actor_ref.hpp>
#include <ferry/mesh/gather.hpp>
#include <ferry/mesh/node_actor.hpp>
#include <ferry/mesh/shape.hpp>
#include <ferry/mesh/value_mesh.hpp>

namespace ferry {

template <class T>
class ActorMesh {
 public:
  ActorMesh() = default;
  ActorMesh(const Shape& shape, std::vector<ActorRef<T>> actors) : shape_(shape), actors_(std::move(actors)) {}

  const Shape& shape() const noexcept { return shape_; }
  std::size_t size() const noexcept { return actors_.size(); }
  // Throws Error (invalid_argument) where there is no such rank.
  const ActorRef<T>& operator[](std::size_t rank) const { return actors_[check_rank(rank, size())]; }
  auto begin() const noexcept { return actors_.begin(); }
  auto end() const noexcept { return actors_.end(); }

  // The only actor. Throws Error (invalid_argument) where there are more.
  const ActorRef<T>& only() const {
    if (actors_.size() != 1) {
      throw Error(
          Failure(errc::invalid_argument, "only() needs a mesh of one actor; choose one with [rank] or slice()"));
    }
    return actors_.front();
  }

  // Those with this index in the named dimension.
  ActorMesh slice(std::string_view dimension, std::size_t index) const {
    std::vector<ActorRef<T>> selected;
    for (const std::size_t rank : shape_.ranks_at(dimension, index)) {
      selected.push_back(actors_[rank]);
    }
    return ActorMesh(shape_.without(dimension), std::move(selected));
  }

  // Calls the endpoint on all at once. Ends when every call has: Task<void>, or Task<ValueMesh<R>>. Throws MeshError
  // with every failed rank. The arguments are encoded once.
  template <auto Function, class... A>
  auto call(const A&... arguments) const {
    using R = detail::ResultOf<detail::EndpointShapeOf<std::remove_cv_t<decltype(Function)>>>;
    auto calls = messages<Call<R>, Function>(detail::encode_request<Function>(arguments...));
    if constexpr (std::is_void_v<R>) {
      return all_void(shape_, std::move(calls));
    } else {
      return call_all<R>(shape_, std::move(calls));
    }
  }

  // Sends to all at once, without replies. Ends when every message is on its way; one member without room delays no
  // other. Throws MeshError with every failed rank.
  template <auto Function, class... A>
  Task<void> send(const A&... arguments) const {
    return all_void(shape_, messages<Send, Function>(detail::encode_request<Function>(arguments...)));
  }

  // Stops the actors; ends when all have been destroyed and their names are free. Throws MeshError.
  Task<void> stop() const { return stop_all(shape_, actors_); }

 private:
  template <class Message, auto Function>
  std::vector<Message> messages(const wire::Bytes& request) const {
    std::vector<Message> all;
    all.reserve(actors_.size());
    for (const ActorRef<T>& actor : actors_) {
      all.emplace_back(detail::target_of<T, Function>(actor.address()), request, Limits{});
    }
    return all;
  }
  template <class Message>
  static Task<void> all_void(Shape shape, std::vector<Message> messages) {
    auto all = detail::gather(shape, std::move(messages));
    co_await all;
  }
  static Task<void> stop_all(Shape shape, std::vector<ActorRef<T>> actors) {
    std::vector<Call<void>> calls;
    std::vector<Peer*> peers;
    for (const ActorRef<T>& actor : actors) {
      const ActorRef<NodeActor> control(ActorAddress{actor.address().peer, ActorRuntime::kNodeActor});
      calls.push_back(control.call<&NodeActor::stop_actor>(actor.id()));
      peers.push_back(actor.address().peer);
    }
    auto all = detail::outcomes_of(std::move(calls));
    std::vector<Result<void>> outcomes = co_await all;
    detail::tell_as(fmt::format("stop of {}", wire::class_name<T>()), peers, outcomes);
    detail::require_all(shape, outcomes);
  }
  template <class R>
  static Task<ValueMesh<R>> call_all(Shape shape, std::vector<Call<R>> calls) {
    auto all = detail::gather(shape, std::move(calls));
    co_return ValueMesh<R>(shape, co_await all);
  }

  Shape shape_{};
  std::vector<ActorRef<T>> actors_;
};

}  // namespace ferry
