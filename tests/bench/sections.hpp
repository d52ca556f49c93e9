// The sections of ferry_bench. Each takes one sample of each of its figures in a program of its own, and reports them.
#pragma once

#include <cstddef>

#include <ferry/ferry.hpp>

namespace ferry_bench {

// Two processes over shared memory: memory of ferry::allocate beside memcpy; any memory beside process_vm_readv.
ferry::Task<int> measure_shared_memory(ferry::Context context);
ferry::Task<int> measure_other_memory(ferry::Context context);
// The same over tcp beside a plain socket.
ferry::Task<int> measure_tcp(ferry::Context context);
// Over verbs as perftest measures: one at a time, 128 at once, and to and fro into memory that is polled.
ferry::Task<int> measure_verbs(ferry::Context context);
// Calls to an actor of another process, over whatever transport the program runs on, beside its round trip.
ferry::Task<int> measure_remote_calls(ferry::Context context);
// Calls between two actors of this process, at depth 1 and 64.
ferry::Task<int> measure_local_calls(ferry::Context context);
// The same on a CrossingExecutor.
ferry::Task<int> measure_crossing_calls(ferry::Context context);
// What buffers, actors and members of a Batch take.
ferry::Task<int> measure_memory(ferry::Context context);
// The processor time of a process with eight connected peers and nothing to do.
ferry::Task<int> measure_idle(ferry::Context context);

}  // namespace ferry_bench
