#include "scenario.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <random>
#include <thread>

#include <fmt/format.h>

namespace ferry::conformance {
namespace {

// Far above what any scenario needs on a busy machine under a sanitizer.
constexpr std::chrono::seconds kPatience{150};

}  // namespace

std::uint64_t seed_from_environment() {
  if (const char* seed = std::getenv("FERRY_SEED")) {
    return std::strtoull(seed, nullptr, 10);
  }
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

std::string name_of_running_test() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  return test == nullptr ? std::string("no test") : fmt::format("{}.{}", test->test_suite_name(), test->name());
}

struct Watchdog::State {
  std::mutex mutex;
  std::condition_variable changed;
  bool over = false;
  std::thread thread;
};

Watchdog::Watchdog(std::string what) : state_(std::make_unique<State>()) {
  state_->thread = std::thread([state = state_.get(), what = std::move(what)] {
    std::unique_lock lock(state->mutex);
    if (!state->changed.wait_for(lock, kPatience, [state] { return state->over; })) {
      fmt::print(stderr, "\n{} has not ended within {} s; giving up\n", what, kPatience.count());
      std::abort();
    }
  });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->over = true;
  }
  state_->changed.notify_all();
  state_->thread.join();
}

}  // namespace ferry::conformance
