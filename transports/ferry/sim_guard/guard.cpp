#include <ferry/sim_guard/guard.hpp>

#include <malloc.h>

#include <atomic>
#include <cstddef>
#include <exception>

#include <fmt/format.h>

#include <ferry/sim/outside.hpp>
#include <ferry/sim/process.hpp>
#include <ferry/sim/world.hpp>
#include <ferry/sim_guard/caller.hpp>
#include <ferry/sim_guard/judge.hpp>

namespace ferry::sim_guard {
namespace {

std::atomic<std::int64_t> shift{0};  // seconds

#ifdef FERRY_SIM_GUARD_SANITIZER
constexpr std::string_view kWhyOff = "ferry::sim_guard is off: this build has the sanitizer " FERRY_SIM_GUARD_SANITIZER
                                     ", which interposes the same "
                                     "functions; link it in a build without";
#else
constexpr std::string_view kWhyOff{};
#endif

}  // namespace

bool is_on() noexcept {
  return kWhyOff.empty();
}

std::string_view why_off() noexcept {
  return kWhyOff;
}

void shift_wall_clock(std::chrono::seconds by) noexcept {
  shift.store(by.count(), std::memory_order_relaxed);
}

std::chrono::seconds wall_clock_shift() noexcept {
  return std::chrono::seconds(shift.load(std::memory_order_relaxed));
}

void judge(const char* function, const char* remedy, const void* return_address) noexcept {
  sim::World* const world = sim::world_running_here();
  if (world == nullptr) {
    return;
  }
  const sim::OutsideWorld outside;  // what tells of it may itself ask the machine
  try {
    const sim::Process* process = world->running_process();
    world->fail(fmt::format("step {} of {}: {} called from {}: {}", world->scheduler().steps(),
                            process == nullptr ? "the world" : sim::describe(*process), function,
                            describe_caller(return_address), remedy));
  } catch (const std::exception&) {
    world->fail(function);  // no memory to say more
  }
}

void judge_free(void* memory) noexcept {
  sim::World* const world = sim::world_running_here();
  if (world == nullptr || memory == nullptr) {
    return;
  }
  const sim::OutsideWorld outside;  // telling of it frees memory, too
  try {
    world->memory_freed(static_cast<const std::byte*>(memory), ::malloc_usable_size(memory));
  } catch (const std::exception&) {
    world->fail("memory that an operation uses was freed");  // no memory to say more
  }
}

}  // namespace ferry::sim_guard
