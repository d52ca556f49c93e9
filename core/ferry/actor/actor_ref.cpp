#include <ferry/actor/actor_ref.hpp>

#include <fmt/format.h>

#include <ferry/actor/actor_runtime.hpp>
#include <ferry/base/adversity.hpp>
#include <ferry/transport/contact_codec.hpp>
#include <ferry/transport/node_core.hpp>
#include <ferry/transport/peer.hpp>
#include <ferry/wire/reader.hpp>
#include <ferry/wire/writer.hpp>

namespace ferry::detail {
namespace {

constexpr std::int8_t kExt = 2;

}  // namespace

// nil, or an ext of u64 actor and the process's contact (transport/contact_codec.hpp).
void encode_actor(wire::Encoder& encoder, const ActorAddress& address) {
  if (address.peer == nullptr) {
    encoder.nil();
    return;
  }
  wire::Bytes bytes;
  wire::Writer writer(bytes);
  writer.u64(address.actor.value());
  encode_contact(writer, address.peer->contact());
  encoder.ext(kExt, {bytes.data(), bytes.size()});
}

Result<ActorAddress> decode_actor(wire::Decoder& decoder) {
  if (decoder.next_is_nil()) {
    static_cast<void>(decoder.read_nil());
    return ActorAddress{};
  }
  wire::ByteView bytes;
  if (!decoder.read_ext(kExt, bytes)) {
    return decoder.failure();
  }
  NodeCore* node = static_cast<NodeCore*>(decoder.context());
  node = node == nullptr ? NodeCore::current() : node;
  if (node == nullptr) {
    return Failure(errc::invalid_argument, "an actor reference can only be decoded by a Node");
  }
  wire::Reader reader(bytes);
  const ActorId actor(reader.u64());
  auto contact = decode_contact(reader);
  if (!contact) {
    return contact.error();
  }
  if (auto complete = reader.finish("actor reference"); !complete) {
    return complete.error();
  }
  return ActorAddress{&node->peers().find_or_add(*contact), actor};
}

Result<void> try_send(const CallTarget& target, wire::Bytes message) {
  const auto refused = [&target](const Failure& why) {
    const Failure named = why.during("try_send of " + target.what());
    return target.peer == nullptr ? named : named.with_peer(target.where());
  };
  if (target.peer == nullptr) {
    return refused(empty_reference("actor reference"));
  }
  NodeCore& node = target.peer->node();
  if (message.size() > node.limits().frame_bytes) {
    return refused(Failure(errc::too_large,
                           fmt::format("the message has {} bytes, a frame at most {} (NodeLimits::frame_bytes); pass a "
                                       "reference to registered memory in place of large data",
                                       message.size(), node.limits().frame_bytes)));
  }
  if (!node.executor().is_of_this_process()) {
    return refused(made_before_fork());
  }
  if (node.actors() == nullptr) {
    return refused(Failure(errc::unsupported, "this node has no actors"));
  }
  ActorRuntime& runtime = *node.actors();
  const auto window = runtime.window(*target.peer, target.actor);
  if (runtime.self_call(target) != SelfCall::no) {
    window->take_anyway(message.size());
  } else if (Adversity::strikes_now(Adversity::Strike::mailbox_full) || !window->try_take(message.size())) {
    return refused(
        Failure(errc::overloaded, "the actor has not taken what this process sent before; use send, which waits"));
  }
  std::atomic<ChannelNumber> sent_under{0};  // nobody waits for an answer
  store_request(message.data(),
                RequestHeader{MessageKind::send, target.endpoint, target.fingerprint, {}, target.actor, 0});
  if (const Failure fate = runtime.send_request(*target.peer, std::move(message), sent_under)) {
    return refused(fate);
  }
  return {};
}

}  // namespace ferry::detail
