#include <sys/uio.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "loops.hpp"
#include "samples.hpp"
#include "sections.hpp"

namespace ferry_bench {
namespace {

constexpr std::size_t kLargest = kSizes[std::size(kSizes) - 1];

double time_memcpy(std::byte* to, const std::byte* from, std::size_t bytes, std::uint64_t count) {
  const Clock::time_point begin = Clock::now();
  for (std::uint64_t index = 0; index < count; ++index) {
    asm volatile("" : "+r"(to), "+r"(from), "+r"(bytes) : : "memory");  // the length is not known to the compiler
    std::memcpy(to, from, bytes);
  }
  asm volatile("" : : : "memory");
  return nanoseconds_each(begin, static_cast<double>(count));
}

double time_process_vm_readv(pid_t process, std::uint64_t from, std::span<std::byte> local, std::uint64_t count) {
  const Clock::time_point begin = Clock::now();
  for (std::uint64_t index = 0; index < count; ++index) {
    const iovec here{local.data(), local.size()};
    const iovec there{reinterpret_cast<void*>(from), local.size()};
    if (::process_vm_readv(process, &here, 1, &there, 1, 0) != static_cast<ssize_t>(local.size())) {
      throw std::runtime_error("process_vm_readv failed");
    }
  }
  return nanoseconds_each(begin, static_cast<double>(count));
}

ferry::Task<void> measure_in_place(PartnerRef partner, ferry::BufferRef all, const Mapping& mapping,
                                   std::span<std::byte> memory, std::size_t bytes) {
  const std::span<std::byte> local = memory.first(bytes);
  const ferry::BufferRef remote = all.subrange(0, bytes);
  std::byte* const mapped = mapping.memory().data();
  const std::uint64_t count = loop_length(bytes, 20, 12);
  Series reads, copies_here, writes, copies_there;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    auto reading = time_reads(remote, local, count);
    reads.add(co_await reading);
    copies_here.add(time_memcpy(local.data(), mapped, bytes, count));
    auto writing = time_writes(remote, local, count);
    writes.add(co_await writing);
    copies_there.add(time_memcpy(mapped, local.data(), bytes, count));
  }
  const std::string size = size_name(bytes);
  report("shm/read/" + size + "/ferry", reads.median());
  report("shm/read/" + size + "/limit", copies_here.median());
  report("shm/write/" + size + "/ferry", writes.median());
  report("shm/write/" + size + "/limit", copies_there.median());

  const std::int32_t process = co_await partner.call<&Partner::process>();
  CostMeter read_costs(process);
  auto reading = time_reads(remote, local, count);
  co_await reading;
  read_costs.report("shm/read/" + size, count);
  CostMeter write_costs(process);
  auto writing = time_writes(remote, local, count);
  co_await writing;
  write_costs.report("shm/write/" + size, count);
}

ferry::Task<void> measure_ping_pong(ferry::Context context, PartnerRef partner) {
  constexpr std::uint64_t kRounds = 20'000;
  PingPong game(context, partner);
  auto preparing = game.prepare();
  co_await preparing;
  Series ferry_rounds, bare_rounds;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    auto ferry_game = game.time_ferry(kRounds);
    ferry_rounds.add(co_await ferry_game);
    auto bare_game = game.time_bare(kRounds);
    bare_rounds.add(co_await bare_game);
  }
  report("shm/ping_pong/8/ferry", ferry_rounds.median());
  report("shm/ping_pong/8/limit", bare_rounds.median());
}

}  // namespace

ferry::Task<int> measure_shared_memory(ferry::Context context) {
  auto spawning = spawn_partner(context);
  const PartnerRef partner = co_await spawning;
  const ferry::BufferRef all = co_await partner.call<&Partner::share>(kLargest);
  const MappingName name = co_await partner.call<&Partner::map>(kLargest);
  {
    const Mapping mapping = Mapping::open(name);
    const OtherMemory local(kLargest);
    for (const std::size_t bytes : kSizes) {
      auto measuring = measure_in_place(partner, all, mapping, local.bytes(), bytes);
      co_await measuring;
    }
  }
  auto playing = measure_ping_pong(context, partner);
  co_await playing;
  co_return 0;
}

ferry::Task<int> measure_other_memory(ferry::Context context) {
  auto spawning = spawn_partner(context);
  const PartnerRef partner = co_await spawning;
  const ferry::BufferRef all = co_await partner.call<&Partner::register_other>(kLargest);
  const std::uint64_t address = co_await partner.call<&Partner::other_address>();
  const std::int32_t process = co_await partner.call<&Partner::process>();
  const OtherMemory memory(kLargest);
  for (const std::size_t bytes : kSizes) {
    const std::span<std::byte> local = memory.bytes().first(bytes);
    const ferry::BufferRef remote = all.subrange(0, bytes);
    const std::uint64_t count = loop_length(bytes, 1500, 8);
    Series reads, limit, writes;
    auto warming = time_reads(remote, local, 2);
    co_await warming;
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
      auto reading = time_reads(remote, local, count);
      reads.add(co_await reading);
      limit.add(time_process_vm_readv(process, address, local, count));
    }
    for (int repeat = 0; repeat < kRepeats; ++repeat) {  // apart: they leave the bytes in the owner's cache
      auto writing = time_writes(remote, local, std::max<std::uint64_t>(count / 8, 2));
      writes.add(co_await writing);
    }
    const std::string size = size_name(bytes);
    report("other/read/" + size + "/ferry", reads.median());
    report("other/read/" + size + "/limit", limit.median());
    report("other/write/" + size + "/ferry", writes.median());
    CostMeter costs(process);
    auto reading = time_reads(remote, local, count);
    co_await reading;
    costs.report("other/read/" + size, count);
  }
  co_return 0;
}

}  // namespace ferry_bench
