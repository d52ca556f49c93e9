#include <algorithm>
#include <vector>

#include <resident_memory.hpp>

#include "counters.hpp"
#include "local_actors.hpp"
#include "loops.hpp"
#include "samples.hpp"
#include "sections.hpp"

namespace ferry_bench {
namespace {

// Allocations of one run of a Batch of reserved size, all members of it in flight at once.
ferry::Task<std::uint64_t> allocations_of_batch(ferry::BufferRef word, std::span<std::uint64_t> local) {
  ferry::Batch batch(local.size());
  const std::uint64_t before = allocations();
  for (std::uint64_t& target : local) {
    batch.add(word.read_into(std::span(&target, 1)));
  }
  auto running = batch.run();
  const ferry::Outcomes outcomes = co_await running;
  outcomes.throw_if_failed();
  co_return allocations() - before;
}

ferry::Task<void> measure_batch(PartnerRef partner) {
  constexpr std::size_t kMembers = 10'000;
  const ferry::BufferRef word = co_await partner.call<&Partner::line>();
  std::vector<std::uint64_t> local(kMembers);
  // A round that has more in flight at once than any before it makes more records, which are kept: the least counts.
  double least = static_cast<double>(kMembers);
  for (int round = 0; round < 2 * kRepeats; ++round) {
    auto many = allocations_of_batch(word, local);
    const std::uint64_t of_many = co_await many;
    auto one = allocations_of_batch(word, std::span(local).first(1));
    const std::uint64_t of_one = co_await one;
    least = std::min(least, (static_cast<double>(of_many) - static_cast<double>(of_one)) / kMembers);
  }
  report("memory/batch_allocations", least);
  Series each;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const Clock::time_point begin = Clock::now();
    auto many = allocations_of_batch(word, local);
    co_await many;
    each.add(nanoseconds_each(begin, kMembers));
  }
  report("memory/batch_member", each.median());
}

}  // namespace

ferry::Task<int> measure_memory(ferry::Context context) {
  constexpr std::size_t kBuffers = 100'000;
  constexpr std::size_t kActors = 10'000;
  std::vector<std::uint64_t> words(kBuffers, 1);
  ferry::ProcMesh here = context.this_proc();
  {
    const auto before = static_cast<double>(ferry::test::resident_bytes());
    std::vector<ferry::RDMABuffer> buffers;
    buffers.reserve(kBuffers);
    Clock::time_point begin = Clock::now();
    for (std::uint64_t& word : words) {
      buffers.push_back(context.register_memory(std::span(&word, 1)));
    }
    report("memory/register", nanoseconds_each(begin, kBuffers));
    const auto between = static_cast<double>(ferry::test::resident_bytes());
    begin = Clock::now();
    for (std::size_t index = 0; index < kActors; ++index) {
      auto spawning = here.spawn<Callee>("");
      co_await spawning;
    }
    report("memory/spawn_actor", nanoseconds_each(begin, kActors));
    const auto after = static_cast<double>(ferry::test::resident_bytes());
    report("memory/buffers_bytes", between - before);
    report("memory/actors_bytes", after - between);
    report("memory/bytes", after - before);
  }
  auto partner = spawn_partner(context);
  auto batching = measure_batch(co_await partner);
  co_await batching;
  co_return 0;
}

}  // namespace ferry_bench
