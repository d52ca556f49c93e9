// ferry::sim_guard: fails a simulated world that asks the real machine for what no seed decides, and says who asked.
//
// A program opts in by linking the target ferry::sim_guard; nothing need be called. From then on clock_gettime,
// gettimeofday, time, timespec_get, clock, getrandom, getentropy, arc4random, std::random_device, pthread_create and
// the opening of /dev/random and /dev/urandom end the world that runs on the calling thread as failed:
//
//   step 812 of process 3 (worker): clock_gettime called from Worker::train() (./prog+0x1234): use …
//
// Memory that is freed while an operation still uses it is a finding there (local buffer, read race).
//
// The call itself is carried out. Outside of a world's run(), on other threads, and in what a world tells its log and
// trace (sim/outside.hpp), nothing is judged. Not seen: instructions (rdtsc, rdrand), system calls made without the C
// library, and calls that a shared library makes of functions of its own. Names come from the program's symbols.
//
// Off under sanitizers, which interpose the same functions: is_on() is false there, and why_off() says so. Any thread.
#pragma once

#include <chrono>
#include <string_view>

namespace ferry::sim_guard {

bool is_on() noexcept;
// One sentence; empty if it is on.
std::string_view why_off() noexcept;

// From now on the wall clock (CLOCK_REALTIME and what is made of it) goes by so much ahead of the machine's, in the
// whole program: the same seeds have to give the same hashes then. Does nothing where the guard is off.
void shift_wall_clock(std::chrono::seconds by) noexcept;

}  // namespace ferry::sim_guard
