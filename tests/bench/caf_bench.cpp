// caf_bench call DEPTH CALLS: one actor calls another of the same process by CAF 0.17, DEPTH calls at once, as
// ferry_bench's Caller does. caf_bench detached DEPTH CALLS: each of the two has a thread of its own. caf_bench remote
// DEPTH CALLS: each is in an actor system of its own, over tcp. caf_bench fan-in MESSAGES: four actors send so many
// each to one, whose mailbox has no bound. Prints a line of JSON: nanoseconds per call or message, the median of five
// runs in one process.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <optional>
#include <string_view>
#include <vector>

#include <caf/all.hpp>
#include <caf/io/all.hpp>

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

constexpr std::uint64_t kSources = 4;
constexpr int kRepeats = 5;

struct DrainState {
  std::uint64_t left = 0;
};

caf::behavior drain(caf::stateful_actor<DrainState>* self, std::uint64_t expected, std::promise<void>* done) {
  self->state.left = expected;
  return {[=](std::uint64_t) {
    if (--self->state.left == 0) {
      done->set_value();
    }
  }};
}

caf::behavior source(caf::event_based_actor* self, const caf::actor& to, std::uint64_t count) {
  return {[=](std::uint64_t) {
    for (std::uint64_t index = 0; index < count; ++index) {
      self->send(to, index);
    }
  }};
}

// Nanoseconds per message.
double fan_in(caf::actor_system& system, std::uint64_t count) {
  std::promise<void> done;
  const caf::actor to = system.spawn(drain, kSources * count, &done);
  std::vector<caf::actor> from;
  for (std::uint64_t index = 0; index < kSources; ++index) {
    from.push_back(system.spawn(source, to, count));
  }
  const Clock::time_point begin = Clock::now();
  for (const caf::actor& one : from) {
    caf::anon_send(one, std::uint64_t{1});
  }
  done.get_future().wait();
  const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
  for (const caf::actor& one : from) {
    caf::anon_send_exit(one, caf::exit_reason::user_shutdown);
  }
  caf::anon_send_exit(to, caf::exit_reason::user_shutdown);
  return took.count() / static_cast<double>(kSources * count);
}

enum class Where { same_threads, own_threads, other_system };

// Nanoseconds per call. The callee is in `there` where that is another system.
double calls_at_depth(caf::actor_system& here, caf::actor_system& there, Where where, std::uint64_t depth,
                      std::uint64_t calls) {
  std::promise<Clock::duration> done;
  auto took = done.get_future();
  const bool detached = where == Where::own_threads;
  const caf::actor callee_there = detached ? there.spawn<caf::detached>(callee) : there.spawn(callee);
  caf::actor to = callee_there;
  if (where == Where::other_system) {
    const auto port = there.middleman().publish(callee_there, 0, "127.0.0.1");
    const auto found =
        port ? here.middleman().remote_actor("127.0.0.1", *port) : caf::expected<caf::actor>(port.error());
    if (!found) {
      std::fprintf(stderr, "caf_bench: the other actor system cannot be reached\n");
      std::exit(1);
    }
    to = *found;
  }
  const caf::actor from = detached ? here.spawn<caf::detached>(caller, to, depth, calls, &done)
                                   : here.spawn(caller, to, depth, calls, &done);
  caf::anon_send(from, std::uint64_t{1});
  const double each = std::chrono::duration<double, std::nano>(took.get()).count() / static_cast<double>(calls);
  caf::anon_send_exit(from, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(callee_there, caf::exit_reason::user_shutdown);
  return each;
}

int print_usage() {
  std::fprintf(stderr,
               "usage: caf_bench call DEPTH CALLS\n"
               "       caf_bench detached DEPTH CALLS\n"
               "       caf_bench remote DEPTH CALLS\n"
               "       caf_bench fan-in MESSAGES\n");
  return 2;
}

struct Kind {
  std::string_view argument;
  Where where;
  const char* figure;
};
constexpr Kind kKinds[] = {{"call", Where::same_threads, "local_call"},
                           {"detached", Where::own_threads, "crossing_call"},
                           {"remote", Where::other_system, "call/tcp"}};

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  const bool is_fan_in = what == "fan-in";
  const auto kind =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& k) { return k.argument == what; });
  if (argc != (is_fan_in ? 3 : 4) || (!is_fan_in && kind == std::end(kKinds))) {
    return print_usage();
  }
  const std::uint64_t count = std::strtoull(argv[argc - 1], nullptr, 10);
  const std::uint64_t depth = is_fan_in ? 0 : std::strtoull(argv[2], nullptr, 10);
  caf::actor_system_config config;
  config.load<caf::io::middleman>();
  config.set("scheduler.max-threads", std::min<std::size_t>(4, std::max(1U, std::thread::hardware_concurrency())));
  caf::actor_system system(config);
  std::optional<caf::actor_system> other;
  if (!is_fan_in && kind->where == Where::other_system) {
    other.emplace(config);
  }
  std::vector<double> each;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    each.push_back(is_fan_in ? fan_in(system, count)
                             : calls_at_depth(system, other ? *other : system, kind->where, depth, count));
  }
  std::nth_element(each.begin(), each.begin() + kRepeats / 2, each.end());
  if (is_fan_in) {
    std::printf("{\"name\": \"fan_in/caf\", \"value\": %.1f}\n", each[kRepeats / 2]);
  } else {
    std::printf("{\"name\": \"%s/%llu/caf\", \"value\": %.1f}\n", kind->figure, static_cast<unsigned long long>(depth),
                each[kRepeats / 2]);
  }
  return 0;
}
