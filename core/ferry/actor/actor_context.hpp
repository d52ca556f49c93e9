// ActorContext: what an actor's constructor gets: its node, its name, memory registration, a reference to itself.
//
// Lives as long as the actor; an actor may keep a reference to it. Used on the actor's strand.
#pragma once

#include <span>
#include <string>

#include <ferry/actor/actor_ref.hpp>
#include <ferry/buffer/rdma_buffer.hpp>

namespace ferry {

class ActorCell;
class NodeCore;

class ActorContext {
 public:
  ActorContext(NodeCore& node, ActorId id, std::string name) : node_(node), id_(id), name_(std::move(name)) {}
  ActorContext(const ActorContext&) = delete;
  ActorContext& operator=(const ActorContext&) = delete;

  NodeCore& node() const noexcept { return node_; }
  ActorId id() const noexcept { return id_; }
  const std::string& name() const noexcept { return name_; }

  // Registers memory that peers may reach through references. When the actor stops, it is revoked before the actor is
  // destroyed. Throws Error.
  template <class T, std::size_t N>
  RDMABuffer register_memory(std::span<T, N> memory, const RegisterOptions& options = {}) {
    return ferry::register_memory(node_, memory, options, &registrations_);
  }
  template <detail::NotASpan Memory>
  RDMABuffer register_memory(Memory&&, const RegisterOptions& = {}) {
    return detail::refuse_memory<Memory>();
  }

  // A reference to this actor; T is its class.
  template <class T>
  ActorRef<T> self() const {
    return ActorRef<T>(self_address());
  }

  RegistrationSet& registrations() noexcept { return registrations_; }

 private:
  ActorAddress self_address() const;

  NodeCore& node_;
  ActorId id_;
  std::string name_;
  RegistrationSet registrations_;
};

}  // namespace ferry
