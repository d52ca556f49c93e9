// caf_bench DEPTH CALLS: one actor calls another of the same process by CAF 0.17, DEPTH calls at once, as
// ferry_bench's Caller does. Prints a line of JSON: nanoseconds per call, the median of five runs in one process.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <vector>

#include <caf/all.hpp>

namespace {

using Clock = std::chrono::steady_clock;

caf::behavior callee() {
  return {[](std::uint64_t value) { return value; }};
}

struct CallerState {
  std::uint64_t left = 0;
  std::uint64_t under_way = 0;
  Clock::time_point begin{};
};

void call_next(caf::stateful_actor<CallerState>* self, const caf::actor& to, std::promise<Clock::duration>* done) {
  if (self->state.left == 0) {
    if (self->state.under_way == 0) {
      done->set_value(Clock::now() - self->state.begin);
    }
    return;
  }
  --self->state.left;
  ++self->state.under_way;
  self->request(to, caf::infinite, self->state.left).then([=](std::uint64_t) {
    --self->state.under_way;
    call_next(self, to, done);
  });
}

caf::behavior caller(caf::stateful_actor<CallerState>* self, const caf::actor& to, std::uint64_t depth,
                     std::uint64_t calls, std::promise<Clock::duration>* done) {
  return {[=](std::uint64_t) {
    self->state.left = calls;
    self->state.begin = Clock::now();
    for (std::uint64_t lane = 0; lane < depth; ++lane) {
      call_next(self, to, done);
    }
  }};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: caf_bench DEPTH CALLS\n");
    return 2;
  }
  const std::uint64_t depth = std::strtoull(argv[1], nullptr, 10);
  const std::uint64_t calls = std::strtoull(argv[2], nullptr, 10);
  caf::actor_system_config config;
  config.set("scheduler.max-threads", std::min<std::size_t>(4, std::max(1U, std::thread::hardware_concurrency())));
  caf::actor_system system(config);
  const caf::actor to = system.spawn(callee);
  constexpr int kRepeats = 5;
  std::vector<double> each;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    std::promise<Clock::duration> done;
    auto took = done.get_future();
    const caf::actor from = system.spawn(caller, to, depth, calls, &done);
    caf::anon_send(from, std::uint64_t{1});
    each.push_back(std::chrono::duration<double, std::nano>(took.get()).count() / static_cast<double>(calls));
    caf::anon_send_exit(from, caf::exit_reason::user_shutdown);
  }
  caf::anon_send_exit(to, caf::exit_reason::user_shutdown);
  std::nth_element(each.begin(), each.begin() + kRepeats / 2, each.end());
  std::printf("{\"name\": \"local_call/%llu/caf\", \"value\": %.1f}\n", static_cast<unsigned long long>(depth),
              each[kRepeats / 2]);
  return 0;
}
