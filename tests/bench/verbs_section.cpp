#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "loops.hpp"
#include "partner.hpp"
#include "polling.hpp"
#include "samples.hpp"
#include "sections.hpp"

namespace ferry_bench {
namespace {

// As perftest's, by default.
constexpr std::size_t kDepth = 128;

struct Size {
  std::size_t bytes;
  std::uint64_t count;  // operations of a loop; perftest is given the same
};
constexpr std::array<Size, 2> kLatencies{{{8, 300}, {4096, 200}}};
constexpr std::array<Size, 3> kBandwidths{{{64 << 10, 128}, {1 << 20, 16}, {8 << 20, 5}}};
constexpr Size kRate{64, 3000};
constexpr std::size_t kLargest = kBandwidths.back().bytes;

enum class Kind { read, transmitted, delivered };

constexpr std::array<std::pair<Kind, const char*>, 3> kKinds{
    {{Kind::read, "read"}, {Kind::transmitted, "write"}, {Kind::delivered, "delivered"}}};

ferry::Task<void> one_lane(Kind kind, ferry::BufferRef remote, std::span<std::byte> local, std::uint64_t& left) {
  while (left > 0) {
    --left;
    if (kind == Kind::read) {
      co_await remote.read_into(local);
    } else if (kind == Kind::transmitted) {
      co_await remote.write_from(local, {.completion = ferry::transmitted});
    } else {
      co_await remote.write_from(local);
    }
  }
}

// Nanoseconds per operation, so many under way at once; all on the same memory, as perftest's.
ferry::Task<double> time_many(Kind kind, ferry::BufferRef remote, std::span<std::byte> local, std::uint64_t count,
                              std::size_t depth) {
  std::uint64_t left = count;
  std::vector<ferry::Running<void>> lanes;
  lanes.reserve(depth);
  const Clock::time_point begin = Clock::now();
  for (std::size_t lane = 0; lane < std::min<std::uint64_t>(depth, count); ++lane) {
    lanes.push_back(ferry::start(one_lane(kind, remote, local, left)));
  }
  for (ferry::Running<void>& lane : lanes) {
    co_await lane;
  }
  const double each = nanoseconds_each(begin, static_cast<double>(count));
  if (kind == Kind::transmitted) {
    co_await remote.flush();
  }
  co_return each;
}

// Half a round trip by transmitted writes into memory that the other end polls, as ib_write_lat has it.
ferry::Task<double> time_ping_pong(ferry::Context context, PartnerRef partner, std::size_t bytes,
                                   std::uint64_t rounds) {
  ferry::vector<std::byte> local(bytes);
  auto& first = *reinterpret_cast<std::uint64_t*>(local.data());
  ferry::vector<std::byte> target(bytes);
  auto& last = *reinterpret_cast<std::uint64_t*>(target.data() + bytes - sizeof(std::uint64_t));
  auto& last_sent = *reinterpret_cast<std::uint64_t*>(local.data() + bytes - sizeof(std::uint64_t));
  const ferry::RDMABuffer buffer = context.register_memory(std::span(target));
  const ferry::BufferRef there = co_await partner.call<&Partner::share>(std::uint64_t{bytes});
  auto call = partner.call<&Partner::bounce>(buffer.ref(), rounds + 1);
  auto running = ferry::start(std::move(call));
  Clock::time_point begin = Clock::now();
  for (std::uint64_t round = 1; round <= rounds + 1; ++round) {
    if (round == 2) {
      begin = Clock::now();  // the first one opens the way back
    }
    first = last_sent = round;
    co_await there.write_from(std::span<const std::byte>(local), {.completion = ferry::transmitted});
    wait_for_word(last, round);
  }
  const double each = nanoseconds_each(begin, static_cast<double>(2 * rounds));
  co_await running;
  co_return each;
}

}  // namespace

ferry::Task<int> measure_verbs(ferry::Context context) {
  // Nobody keeps to a core: soft-RoCE's own work needs one, too.
  auto procs = co_await context.this_host().spawn_procs({{"partner", 1}});
  auto partners = co_await procs.spawn<Partner>("partner");
  const PartnerRef partner = partners.only();
  const ferry::BufferRef all = co_await partner.call<&Partner::share>(std::uint64_t{kLargest});
  ferry::vector<std::byte> memory(kLargest);
  for (const auto& [kind, name] : kKinds) {
    for (const Size& size : kLatencies) {
      const std::span<std::byte> local = std::span(memory).first(size.bytes);
      const ferry::BufferRef remote = all.subrange(0, size.bytes);
      auto warming = time_many(kind, remote, local, size.count / 10, 1);
      co_await warming;
      auto timing = time_many(kind, remote, local, size.count, 1);
      report("verbs/latency/" + std::string(name) + "/" + size_name(size.bytes) + "/ferry", co_await timing);
    }
    for (const Size& size : kBandwidths) {
      const std::span<std::byte> local = std::span(memory).first(size.bytes);
      const ferry::BufferRef remote = all.subrange(0, size.bytes);
      auto warming = time_many(kind, remote, local, 1, 1);
      co_await warming;
      auto timing = time_many(kind, remote, local, size.count, kDepth);
      report("verbs/bandwidth/" + std::string(name) + "/" + size_name(size.bytes) + "/ferry", co_await timing);
    }
    const std::span<std::byte> local = std::span(memory).first(kRate.bytes);
    auto warming = time_many(kind, all.subrange(0, kRate.bytes), local, kDepth, kDepth);
    co_await warming;
    auto timing = time_many(kind, all.subrange(0, kRate.bytes), local, kRate.count, kDepth);
    report("verbs/rate/" + std::string(name) + "/" + size_name(kRate.bytes) + "/ferry", co_await timing);
  }
  for (const Size& size : kLatencies) {
    auto timing = time_ping_pong(context, partner, size.bytes, size.count);
    report("verbs/ping_pong/" + size_name(size.bytes) + "/ferry", co_await timing);
  }
  co_return 0;
}

}  // namespace ferry_bench
