// Narration: a run of the machine told event by event: who did what, which values moved between which lanes.
//
// What the text of --explain and the diagram are made from. Lanes are the columns of a space-time diagram: one for each
// thread, each queue's NIC pipeline and each node's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ferry/sim/litmus/machine.hpp>
#include <ferry/sim/litmus/program.hpp>

namespace ferry::sim::litmus {

using LaneIndex = std::size_t;

struct Lane {
  enum class Kind : std::uint8_t { thread, memory, queue };
  Kind kind = Kind::thread;
  NodeIndex node = 0;    // of a queue: its first
  std::string name;      // "A", "memory B", "q"
  std::string subtitle;  // "thread on A", "x, y", "NIC, A to B"
};

struct Event {
  // What the event's arrow means; the colour of a diagram.
  enum class Kind : std::uint8_t {
    local,       // inside a lane
    read,        // a value comes from a memory
    write,       // a value reaches a memory: a drained store, a committed write, an atomic's write
    post,        // an operation reaches its queue
    completion,  // a completion reaches a memory, or is polled there
  };

  Kind kind = Kind::local;
  LaneIndex lane = 0;                      // where it happens, and where its label stands
  std::optional<LaneIndex> partner;        // the lane at the other end of an arrow within this event
  std::optional<std::size_t> departure{};  // the event in which what arrives here set out: an arrow through time
  std::string label;                       // short, for the diagram: "x@B = 1"
  std::string sentence;                    // for the text: "put q x@B <- a@A reads a@A = 1"
};

struct Narration {
  std::vector<std::string> nodes;
  std::vector<Lane> lanes;  // by node; threads, then memory, then queues (in the other order after the first node)
  std::vector<Event> events;
};

// The steps must be a run of the machine from its initial state.
Narration narrate(const Machine& machine, const std::vector<Step>& steps);

// "x@B=1 y@B=0 B:r=0": locations, then registers.
std::string to_text(const Program& program, const Outcome& outcome);

}  // namespace ferry::sim::litmus
