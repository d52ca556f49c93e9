// Actor: the base of every actor class. ActorId: which one.
//
// An actor is a class with public member functions listed in `static constexpr auto endpoints = ferry::endpoints<…>`
// (behind the functions it lists). It is constructed and destroyed by its runtime, on its own strand: one endpoint at a
// time, never on two threads at once. Its constructor takes ActorContext& first.
#pragma once

#include <ferry/base/strong_id.hpp>

namespace ferry {

// Unique in the life of a process; never reused. 1 is the process's own NodeActor.
using ActorId = StrongId<struct ActorIdTag>;

class Actor {
 public:
  Actor() = default;
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;
  virtual ~Actor() = default;

  // Called once, on the strand, after the last endpoint has ended and the actor's memory has been revoked.
  virtual void on_stop() noexcept {}
};

}  // namespace ferry
