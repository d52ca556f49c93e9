// State: where a run of a litmus test stands: memory, threads with their store buffers, queues with what is in flight.
//
// A value without rules: Machine says what may happen to it. Equal states have equal futures, and equal encodings
// (state_codec.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include <ferry/sim/litmus/program.hpp>

namespace ferry::sim::litmus {

// A store, or a posted operation, that waits in a store buffer.
struct BufferEntry {
  bool is_operation = false;
  std::uint8_t index = 0;  // LocationIndex of a store, OperationIndex
  Value value = 0;         // of a store

  friend bool operator==(const BufferEntry&, const BufferEntry&) = default;
};

struct ThreadState {
  std::uint8_t next = 0;            // instruction
  std::vector<BufferEntry> buffer;  // oldest first

  friend bool operator==(const ThreadState&, const ThreadState&) = default;
};

// Where a chunk stands while its operation is in flight; inline data is here from the post on.
struct ChunkState {
  std::uint8_t stage = 0;  // the last is 2 for puts and gets, 3 for atomics: then the chunk is finished
  Value value = 0;         // what was read; 0 at stage 0

  friend bool operator==(const ChunkState&, const ChunkState&) = default;
};

// An operation in the list of its queue.
struct InFlight {
  OperationIndex operation = 0;
  bool is_immediate_emitted = false;

  friend bool operator==(const InFlight&, const InFlight&) = default;
};

// What is on its way to a memory and not there yet.
struct WriteBack {
  bool is_completion = false;  // else data for a location
  LocationIndex location = 0;
  Value value = 0;

  friend bool operator==(const WriteBack&, const WriteBack&) = default;
};

struct QueueState {
  std::vector<InFlight> list;            // in posting order
  std::vector<WriteBack> to_local;       // wbL: toward the memory of the queue's first node
  std::vector<WriteBack> to_remote;      // wbR: of its second
  std::uint8_t completions = 0;          // delivered and not polled yet
  std::uint8_t receive_completions = 0;  // likewise, at the second node

  friend bool operator==(const QueueState&, const QueueState&) = default;
};

struct State {
  std::vector<Value> memory;       // by LocationIndex
  std::vector<Value> registers;    // by RegisterIndex; 0 until written
  std::vector<ChunkState> chunks;  // by ChunkIndex; as new before the post and after the operation has retired
  std::vector<ThreadState> threads;
  std::vector<QueueState> queues;

  friend bool operator==(const State&, const State&) = default;
};

}  // namespace ferry::sim::litmus
