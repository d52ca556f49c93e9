// ActorClass: what a runtime must know of an actor class: how to construct it from received arguments and how to run
// each endpoint. ActorList: the classes that a program can host (`ferry::actors<A, B>`).
//
// Made of templates at compile time; nothing is registered globally. Constant, any thread.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <ferry/actor/actor.hpp>
#include <ferry/actor/endpoints.hpp>
#include <ferry/base/result.hpp>
#include <ferry/base/task.hpp>
#include <ferry/wire/codec.hpp>
#include <ferry/wire/type_name.hpp>

namespace ferry {

class ActorContext;

// `using arguments = ferry::arguments<…>` in an actor class names its constructor's parameters (behind the context),
// where overloads of equal arity make them ambiguous.
template <class... T>
struct arguments {};

struct EndpointInfo {
  std::string_view name;
  bool is_concurrent = false;
  bool is_task = false;
  bool takes_stop = false;  // has a StopToken parameter: cancelling the call stops what it awaits, too
  // Exactly one is set. Arguments are decoded from `body`; the value is appended to `reply`. Exceptions pass; malformed
  // arguments throw detail::ArgumentsRefused, which names the one, before anything of the actor runs.
  void (*run)(Actor& actor, NodeCore& node, wire::ByteView body, const StopToken& stop, wire::Bytes& reply) = nullptr;
  Task<void> (*start)(Actor& actor, NodeCore& node, wire::ByteView body, StopToken stop, wire::Bytes& reply) = nullptr;
};

struct ActorClass {
  std::string_view name;
  std::uint32_t fingerprint = 0;
  std::span<const EndpointInfo> endpoints;
  // Constructs from encoded arguments. Exceptions of the constructor pass; malformed and unsuitable arguments throw
  // detail::ArgumentsRefused.
  std::unique_ptr<Actor> (*construct)(ActorContext& context, std::span<const wire::ByteView> arguments) = nullptr;
};

namespace detail {

// Not an Error: what an endpoint throws must not be mistaken for it.
struct ArgumentsRefused {
  Failure why;
};

// "argument 2 of 3 (u32) cannot be decoded: …". number: from 1.
[[noreturn]] void refuse_argument(std::size_t number, std::size_t count, std::string_view type, const Failure& why);
// Bytes that follow the last argument.
[[noreturn]] void refuse_rest(std::size_t count, const Failure& why);

template <class... P>
inline constexpr std::size_t kArgumentsAmong = (std::size_t{0} + ... + (std::is_same_v<P, StopToken> ? 0 : 1));

// Decodes the parameters of an endpoint; StopTokens are put in.
template <class... P>
std::tuple<P...> decode_parameters(std::tuple<P...>*, NodeCore& node, wire::ByteView body, const StopToken& stop) {
  constexpr std::size_t kCount = kArgumentsAmong<P...>;
  wire::Decoder decoder(body, &node);
  [[maybe_unused]] std::size_t number = 0;
  [[maybe_unused]] const auto one = [&]<class T>(std::type_identity<T>) -> T {
    if constexpr (std::is_same_v<T, StopToken>) {
      return stop;
    } else {
      ++number;
      auto value = wire::decode<T>(decoder);
      if (!value) {
        refuse_argument(number, kCount, wire::type_name<T>(), value.error());
      }
      return std::move(*value);
    }
  };
  std::tuple<P...> parameters{one(std::type_identity<P>{})...};  // braces: left to right
  if (!decoder.finish()) {
    refuse_rest(kCount, decoder.failure());
  }
  return parameters;
}

template <class T, class Entry>
void run_endpoint(Actor& actor, NodeCore& node, wire::ByteView body, const StopToken& stop, wire::Bytes& reply) {
  using Called = EndpointShapeOf<std::remove_cv_t<decltype(Entry::function)>>;
  auto parameters = decode_parameters(static_cast<typename Called::Parameters*>(nullptr), node, body, stop);
  const auto invoke = [&](auto&... parameter) -> decltype(auto) {
    return (static_cast<T&>(actor).*Entry::function)(std::move(parameter)...);
  };
  if constexpr (std::is_void_v<typename Called::Result>) {
    std::apply(invoke, parameters);
  } else {
    wire::encode(reply, std::apply(invoke, parameters));
  }
}

template <class T, class Entry>
Task<void> start_endpoint(Actor& actor, NodeCore& node, wire::ByteView body, StopToken stop, wire::Bytes& reply) {
  using Called = EndpointShapeOf<std::remove_cv_t<decltype(Entry::function)>>;
  auto parameters = decode_parameters(static_cast<typename Called::Parameters*>(nullptr), node, body, stop);
  // The parameters stay in this frame, so that references to them are good until the end.
  const auto invoke = [&actor](auto&... parameter) {
    return (static_cast<T&>(actor).*Entry::function)(std::move(parameter)...);
  };
  auto task = std::apply(invoke, parameters);
  if constexpr (std::is_void_v<typename Called::Result>) {
    co_await task;
  } else {
    wire::encode(reply, co_await task);
  }
}

template <class T, class Entry>
constexpr EndpointInfo endpoint_info() {
  using Called = EndpointShapeOf<std::remove_cv_t<decltype(Entry::function)>>;
  static_assert(std::is_base_of_v<typename Called::Owner, T>, "an endpoint is a member function of its actor class");
  EndpointInfo info{wire::member_name<Entry::function>(),
                    Entry::is_concurrent,
                    Called::is_task,
                    Called::takes_stop,
                    nullptr,
                    nullptr};
  if constexpr (!Called::can_travel) {
    return info;
  } else if constexpr (Called::is_task) {
    info.start = &start_endpoint<T, Entry>;
  } else {
    info.run = &run_endpoint<T, Entry>;
  }
  return info;
}

template <class T, class... Entry>
constexpr auto endpoint_infos(EndpointList<Entry...>) {
  return std::array<EndpointInfo, sizeof...(Entry)>{endpoint_info<T, Entry>()...};
}
template <class T>
inline constexpr auto kEndpointInfos = endpoint_infos<T>(T::endpoints);

// Stands for one received constructor argument: becomes whatever type the constructor asks for.
class ReceivedArgument {
 public:
  // index: of it among `all`.
  ReceivedArgument(std::span<const wire::ByteView> all, std::size_t index, NodeCore& node) noexcept
      : all_(all), index_(index), node_(&node) {}

  template <class U>
  requires(!std::derived_from<U, Actor> && !std::same_as<U, ReceivedArgument>) operator U()
      const {  // NOLINT: converts to anything, on purpose
    auto value = wire::decode<U>(all_[index_], node_);
    if (!value) {
      refuse_argument(index_ + 1, all_.size(), wire::type_name<U>(), value.error());
    }
    return std::move(*value);
  }

 private:
  std::span<const wire::ByteView> all_;
  std::size_t index_;
  NodeCore* node_;
};

template <std::size_t>
using ReceivedAt = ReceivedArgument;

NodeCore& node_of(ActorContext& context) noexcept;
[[noreturn]] void refuse_arity(std::size_t count);

template <class T, std::size_t... I>
constexpr bool constructible_from_received(std::index_sequence<I...>) {
  return std::is_constructible_v<T, ActorContext&, ReceivedAt<I>...>;
}

template <class T, std::size_t... I>
std::unique_ptr<Actor> construct_received(ActorContext& context,
                                          [[maybe_unused]] std::span<const wire::ByteView> received,
                                          std::index_sequence<I...>) {
  [[maybe_unused]] NodeCore& node = node_of(context);
  return std::make_unique<T>(context, ReceivedArgument(received, I, node)...);
}

template <class T, class... P, std::size_t... I>
std::unique_ptr<Actor> construct_named(ActorContext& context, [[maybe_unused]] std::span<const wire::ByteView> received,
                                       arguments<P...>, std::index_sequence<I...>) {
  if (received.size() != sizeof...(P)) {
    refuse_arity(received.size());
  }
  [[maybe_unused]] NodeCore& node = node_of(context);
  return std::make_unique<T>(context, static_cast<P>(ReceivedArgument(received, I, node))...);
}

inline constexpr std::size_t kMaxConstructorArguments = 8;

template <class T>
concept NamesArguments = requires {
  typename T::arguments;
};

template <class T, std::size_t Count = 0>
std::unique_ptr<Actor> construct(ActorContext& context, std::span<const wire::ByteView> received) {
  if constexpr (NamesArguments<T>) {
    return [&]<class... P>(arguments<P...> named) {
      return construct_named<T>(context, received, named, std::index_sequence_for<P...>{});
    }(typename T::arguments{});
  } else if constexpr (Count > kMaxConstructorArguments) {
    refuse_arity(received.size());
  } else {
    using Indices = std::make_index_sequence<Count>;
    if constexpr (constructible_from_received<T>(Indices{})) {
      if (received.size() == Count) {
        return construct_received<T>(context, received, Indices{});
      }
    }
    return construct<T, Count + 1>(context, received);
  }
}

template <class T>
inline constexpr bool kHasEndpoints = requires {
  T::endpoints;
};

template <class T, std::size_t... Count>
constexpr bool takes_context(std::index_sequence<Count...>) {
  return (constructible_from_received<T>(std::make_index_sequence<Count>{}) || ...);
}
template <class T>
inline constexpr bool kTakesContext = NamesArguments<T> ||
                                      takes_context<T>(std::make_index_sequence<kMaxConstructorArguments + 1>{});

}  // namespace detail

template <std::derived_from<Actor> T>
ActorClass actor_class() {
  static_assert(detail::kHasEndpoints<T>,
                "an actor class says what can be called, behind the functions: "
                "static constexpr auto endpoints = ferry::endpoints<&T::function, …>;");
  if constexpr (detail::kHasEndpoints<T>) {
    return ActorClass{wire::class_name<T>(), actor_fingerprint<T>(), detail::kEndpointInfos<T>, &detail::construct<T>};
  } else {
    return {};
  }
}

namespace detail {

template <class T>
ActorClass listed_class() {
  static_assert(
      kTakesContext<T>,
      "an actor's constructor takes an ActorContext& and then at most 8 arguments; where several take as many, "
      "name the parameters of one: using arguments = ferry::arguments<…>;");
  return actor_class<T>();
}

}  // namespace detail

// The classes of a program; a value, cheap to copy.
template <class... T>
struct ActorList {
  std::vector<ActorClass> classes() const { return {detail::listed_class<T>()...}; }
};

template <class... T>
inline constexpr ActorList<T...> actors{};

}  // namespace ferry
