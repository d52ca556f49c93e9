// What an interposed function asks before it does what it is for. Internal to sim_guard.
#pragma once

#include <chrono>

namespace ferry::sim_guard {

// Fails the world that runs on this thread, if there is one. function: as its user knows it; remedy: what to use in its
// place; return_address: of the interposed function.
void judge(const char* function, const char* remedy, const void* return_address) noexcept;

// Tells the world that runs on this thread, if there is one, that this memory is about to be given back.
void judge_free(void* memory) noexcept;

std::chrono::seconds wall_clock_shift() noexcept;

}  // namespace ferry::sim_guard
