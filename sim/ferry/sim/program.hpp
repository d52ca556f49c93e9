// Program: what runs in a simulated process. Entry: makes one, as the first step of the process.
//
// A Program is destroyed in a step of its own after Process::exit(); after a crash, or if the world is given up, only
// when the World is destroyed: no user code of a dead process runs while the world does, but its destructors run then,
// with every call of the library being quiet. Owner: the Process.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <ferry/actor/actor.hpp>

namespace ferry::sim {

class Process;

class Program {
 public:
  virtual ~Program() = default;

  // What it waits for, for the report of a world that is stuck; empty if it does not know.
  virtual std::string waits_for() const { return {}; }

  // For View::peek; null: there is none of that number.
  virtual const Actor* find_actor(ActorId) const noexcept { return nullptr; }
};

// An exception that leaves it ends the process with status 1. Null is a program that does nothing.
using Entry = std::function<std::unique_ptr<Program>(Process&)>;

}  // namespace ferry::sim
