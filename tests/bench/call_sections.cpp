#include <unistd.h>

#include <string>
#include <vector>

#include <ferry/system/system_executor.hpp>

#include "local_actors.hpp"
#include "loops.hpp"
#include "samples.hpp"
#include "sections.hpp"

namespace ferry_bench {

namespace {

ferry::Task<void> send_often(ferry::ActorRef<Source> source, ferry::ActorRef<Drain> drain, std::uint64_t count) {
  co_await source.call<&Source::send_often>(drain, count);
}

// Four actors send to one.
ferry::Task<void> measure_fan_in(ferry::ProcMesh here) {
  constexpr std::uint64_t kSources = 4;
  constexpr std::uint64_t kEach = 10'000;
  auto drains = co_await here.spawn<Drain>("drain");
  std::vector<ferry::ActorRef<Source>> sources;
  for (std::uint64_t index = 0; index < kSources; ++index) {
    auto spawned = co_await here.spawn<Source>("source " + std::to_string(index));
    sources.push_back(spawned.only());
  }
  Series each;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const Clock::time_point begin = Clock::now();
    std::vector<ferry::Running<void>> sending;
    for (const ferry::ActorRef<Source>& source : sources) {
      sending.push_back(ferry::start(send_often(source, drains.only(), kEach)));
    }
    for (ferry::Running<void>& running : sending) {
      co_await running;
    }
    each.add(nanoseconds_each(begin, static_cast<double>(kSources * kEach)));
  }
  report("fan_in/ferry", each.median());
}

// Between two actors of this process, at depth 1 and 64.
ferry::Task<void> measure_calls_here(ferry::Context context, std::string kind) {
  ferry::ProcMesh here = context.this_proc();
  auto callees = co_await here.spawn<Callee>("callee");
  auto callers = co_await here.spawn<Caller>("caller");
  for (const std::uint64_t depth : {1U, 64U}) {
    const std::uint64_t count = depth == 1 ? 5'000 : 30'000;
    Series each;
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
      const double took = co_await callers.only().call<&Caller::call_often>(callees.only(), count, depth);
      each.add(took);
    }
    const std::string name = kind + "/" + std::to_string(depth);
    report(name + "/ferry", each.median());
    const std::uint64_t crossed_before = co_await callees.only().call<&Callee::crossed>();
    CostMeter costs(::getpid());
    co_await callers.only().call<&Caller::call_often>(callees.only(), count, depth);
    costs.report(name, count);
    const std::uint64_t crossed = co_await callees.only().call<&Callee::crossed>();
    report(name + "/crossed", static_cast<double>(crossed - crossed_before) / static_cast<double>(count));
  }
}

}  // namespace

// The round trip of the transport: over shared memory two 8-byte writes into polled memory, over tcp an 8-byte read.
ferry::Task<int> measure_remote_calls(ferry::Context context) {
  auto spawning = spawn_partner(context);
  const PartnerRef partner = co_await spawning;
  const std::int32_t process = co_await partner.call<&Partner::process>();
  const std::string transport(partner.address().peer->transport_name());
  const bool is_shm = transport == "shm";
  const std::uint64_t count = is_shm ? 4'000 : 400;
  PingPong game(context, partner);
  auto preparing = game.prepare();
  co_await preparing;
  std::uint64_t local = 0;
  Series calls, trips;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    auto echoing = time_echoes(partner, count);
    calls.add(co_await echoing);
    auto trip =
        is_shm ? game.time_ferry(count) : time_reads(game.there(), std::as_writable_bytes(std::span(&local, 1)), count);
    trips.add(co_await trip);
  }
  report("call/" + transport + "/ferry", calls.median());
  report("call/" + transport + "/limit", trips.median());
  const std::uint64_t there = co_await partner.call<&Partner::allocations>();
  CostMeter costs(process);
  auto echoing = time_echoes(partner, count);
  co_await echoing;
  costs.report("call/" + transport, count);
  const std::uint64_t then = co_await partner.call<&Partner::allocations>();
  report("call/" + transport + "/owner_allocations", static_cast<double>(then - there) / static_cast<double>(count));
  co_return 0;
}

ferry::Task<int> measure_local_calls(ferry::Context context) {
  auto measuring = measure_calls_here(context, "local_call");
  co_await measuring;
  auto fanning = measure_fan_in(context.this_proc());
  co_await fanning;
  co_return 0;
}

ferry::Task<int> measure_crossing_calls(ferry::Context context) {
  auto measuring = measure_calls_here(context, "crossing_call");
  co_await measuring;
  co_return 0;
}

}  // namespace ferry_bench
