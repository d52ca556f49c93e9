#include <ctime>
#include <vector>

#include "partner.hpp"
#include "samples.hpp"
#include "sections.hpp"

namespace ferry_bench {
namespace {

double processor_seconds() {
  timespec spent{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
  return static_cast<double>(spent.tv_sec) + static_cast<double>(spent.tv_nsec) * 1e-9;
}

}  // namespace

// Seven windows of a bit more than four seconds: thirty in all.
ferry::Task<int> measure_idle(ferry::Context context) {
  constexpr int kWindows = 7;
  constexpr auto kWindow = std::chrono::milliseconds(4'300);
  auto procs = co_await context.this_host().spawn_procs({{"partner", 8}});
  auto partners = co_await procs.spawn<Partner>("partner");
  co_await partners.call<&Partner::echo>(std::uint64_t{1});
  co_await ferry::sleep_for(std::chrono::seconds(1));
  const Clock::time_point begin = Clock::now();
  const double spent_before = processor_seconds();
  for (int window = 0; window < kWindows; ++window) {
    const Clock::time_point window_begin = Clock::now();
    const double before = processor_seconds();
    co_await ferry::sleep_for(kWindow);
    const double spent = processor_seconds() - before;
    report("idle/window", spent / std::chrono::duration<double>(Clock::now() - window_begin).count());
  }
  const double spent = processor_seconds() - spent_before;
  report("idle/whole", spent / std::chrono::duration<double>(Clock::now() - begin).count());
  co_return 0;
}

}  // namespace ferry_bench
