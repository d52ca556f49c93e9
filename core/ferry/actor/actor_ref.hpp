// ActorRef<T>: a reference to one life of one actor. The value that messages carry; T may be incomplete until used.
//
// Copying it keeps nothing alive: when the actor has stopped, calls fail with actor_stopped, when its process is gone
// with peer_lost. Any thread may copy it; calls are awaited inside tasks. It must not be used after its Node has ended.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <utility>

#include <ferry/actor/actor.hpp>
#include <ferry/actor/call.hpp>
#include <ferry/actor/endpoints.hpp>
#include <ferry/memory/process_id.hpp>

namespace ferry {

// What all ActorRefs hold.
struct ActorAddress {
  Peer* peer = nullptr;
  ActorId actor{};
};

namespace detail {

void encode_actor(wire::Encoder& encoder, const ActorAddress& address);
Result<ActorAddress> decode_actor(wire::Decoder& decoder);
Result<void> try_send(const CallTarget& target, wire::Bytes message);

template <class... P, class... A>
void encode_arguments(wire::Bytes& out, std::tuple<P...>*, A&&... arguments) {
  wire::Encoder encoder(out);
  // Converted to the endpoint's own types first, so that the wire form is the endpoint's.
  (wire::encode(encoder, static_cast<const P&>(std::forward<A>(arguments))), ...);
}

template <class Arguments, class... A>
inline constexpr bool kAcceptable = false;
template <class... P, class... A>
requires(sizeof...(P) ==
         sizeof...(A)) inline constexpr bool kAcceptable<std::tuple<P...>, A...> = (std::convertible_to<A, P> && ...);

template <class T, auto Function>
CallTarget target_of(const ActorAddress& address) {
  using List = std::remove_cvref_t<decltype(T::endpoints)>;
  constexpr std::size_t kIndex = List::template index_of<Function>();
  static_assert(kIndex < List::size, "this function is not in the actor's endpoints");
  return CallTarget{address.peer,           address.actor,         static_cast<std::uint16_t>(kIndex),
                    actor_fingerprint<T>(), wire::class_name<T>(), wire::member_name<Function>()};
}

template <auto Function, class... A>
wire::Bytes encode_request(A&&... arguments) {
  using Called = EndpointShapeOf<std::remove_cv_t<decltype(Function)>>;
  using Arguments = typename Called::Arguments;
  constexpr bool kFits = !Called::can_travel || kAcceptable<Arguments, A...>;
  static_assert(kFits, "the arguments do not fit the endpoint's parameters");
  wire::Bytes message = new_request();
  if constexpr (kFits && Called::can_travel) {
    encode_arguments(message, static_cast<Arguments*>(nullptr), std::forward<A>(arguments)...);
  }
  return message;
}

}  // namespace detail

template <class T>
class ActorRef {
 public:
  // Empty; calls fail with invalid_argument.
  ActorRef() noexcept = default;
  explicit ActorRef(const ActorAddress& address) noexcept : address_(address) {}

  explicit operator bool() const noexcept { return address_.peer != nullptr; }
  ActorId id() const noexcept { return address_.actor; }
  const ActorAddress& address() const noexcept { return address_; }

  // co_await ref.call<&T::f>(arguments…): the endpoint's result.
  template <auto Function, class... A>
  auto call(A&&... arguments) const {
    using Called = detail::EndpointShapeOf<std::remove_cv_t<decltype(Function)>>;
    return Call<detail::ResultOf<Called>>(detail::target_of<T, Function>(address_),
                                          detail::encode_request<Function>(std::forward<A>(arguments)...), Limits{});
  }

  // co_await ref.send<&T::f>(arguments…): sent once there is room; no reply. An exception of the endpoint is logged
  // there.
  template <auto Function, class... A>
  Send send(A&&... arguments) const {
    return Send(detail::target_of<T, Function>(address_),
                detail::encode_request<Function>(std::forward<A>(arguments)...), Limits{});
  }

  // Sends now or not at all: overloaded where there is no room.
  template <auto Function, class... A>
  Result<void> try_send(A&&... arguments) const {
    return detail::try_send(detail::target_of<T, Function>(address_),
                            detail::encode_request<Function>(std::forward<A>(arguments)...));
  }

  friend bool operator==(const ActorRef& a, const ActorRef& b) noexcept {
    return a.address_.peer == b.address_.peer && a.address_.actor == b.address_.actor;
  }

 private:
  ActorAddress address_{};
};

template <class T>
struct wire::Codec<ActorRef<T>> {
  static constexpr std::string_view kName = "ferry.actor_ref";
  static void encode(Encoder& encoder, const ActorRef<T>& reference) {
    detail::encode_actor(encoder, reference.address());
  }
  static Result<ActorRef<T>> decode(Decoder& decoder) {
    const auto address = detail::decode_actor(decoder);
    if (!address) {
      return address.error();
    }
    return ActorRef<T>(*address);
  }
};

}  // namespace ferry
