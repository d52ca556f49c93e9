// EventStructure: the events that every complete execution of a program consists of, and what orders them always.
//
// No instruction runs twice, so the events are known beforehand; an execution is a way to order them. Nothing here
// depends on the profile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <ferry/sim/litmus/axioms/partial_order.hpp>
#include <ferry/sim/litmus/program.hpp>

namespace ferry::sim::litmus::axioms {

struct Event {
  enum class Kind : std::uint8_t {
    execute,  // an instruction runs in its thread
    drain,    // a store reaches memory, or an operation its queue
    read,     // a chunk reads its source; of a glob atomic: and writes its target
    update,   // an hca atomic writes its target
    send,     // a chunk's data sets out for the other memory
    land,     // it becomes visible there
    other,    // completions: no value depends on them
  };
  Kind kind = Kind::other;
  ThreadIndex thread = 0;        // execute, drain
  std::size_t instruction = 0;   // execute, drain
  OperationIndex operation = 0;  // read, update, send, land; drain of an operation
  std::size_t chunk = 0;
};

// The events of one chunk. Inline puts have no read; only hca atomics have an update of their own.
struct ChunkEvents {
  std::optional<EventIndex> read;
  std::optional<EventIndex> update;
  EventIndex send = 0;
  EventIndex land = 0;

  EventIndex first() const noexcept { return read.value_or(send); }
};

struct OperationEvents {
  ThreadIndex thread = 0;
  EventIndex post = 0;  // the drain
  std::vector<ChunkEvents> chunks;
  std::optional<EventIndex> immediate;       // sets out
  std::optional<EventIndex> immediate_land;  // is delivered
  EventIndex retire = 0;                     // the completion sets out
  EventIndex completion_land = 0;            // is delivered
};

// A touch of memory. Two of one location, one of them a write, are ordered in every execution.
struct Access {
  EventIndex event = 0;
  LocationIndex location = 0;
  bool is_write = false;  // perhaps: a compare-swap may fail
};

// One list of what is on its way to a memory: wbL or wbR of a queue.
struct Flight {
  EventIndex send = 0;
  EventIndex land = 0;
  std::optional<LocationIndex> location;  // none: a completion
};

struct EventStructure {
  explicit EventStructure(const Program& program);

  std::vector<Event> events;
  std::vector<std::vector<EventIndex>> execute;               // by thread and instruction
  std::vector<std::vector<std::optional<EventIndex>>> drain;  // likewise, where there is one
  std::vector<OperationEvents> operations;                    // by OperationIndex
  std::vector<Access> accesses;
  std::vector<std::vector<Flight>> to_local, to_remote;  // by QueueIndex
  std::vector<Edge> order;                               // program order, buffers, stages of a chunk
  bool is_too_large = false;                             // more than kMaxEvents events: nothing else is filled in
};

}  // namespace ferry::sim::litmus::axioms
