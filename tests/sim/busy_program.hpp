// A whole program that uses what there is: processes, calls, reads, writes, atomics, faults that it bears. Test code
// only.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <ferry/actor/actor.hpp>
#include <ferry/base/sleep.hpp>
#include <ferry/sim/run.hpp>

namespace ferry::sim::test {

using namespace std::chrono_literals;

class Vault : public Actor {
 public:
  explicit Vault(ActorContext& context)
      : buffer_(context.register_memory(std::span(words_))), log_(context.node().log()) {}

  BufferRef words() { return buffer_.ref(); }
  std::uint64_t sum() {
    std::uint64_t sum = 0;
    for (const std::uint64_t word : words_) {
      sum += word;
    }
    log_.write(LogLevel::info, "the sum is " + std::to_string(sum));
    return sum;
  }

  static constexpr auto endpoints = ferry::endpoints<&Vault::words, &Vault::sum>;

 private:
  std::array<std::uint64_t, 16> words_{};
  RDMABuffer buffer_;
  Log& log_;
};

class Visitor : public Actor {
 public:
  explicit Visitor(ActorContext&) {}

  Task<std::uint64_t> visit(ActorRef<Vault> vault, std::uint64_t value) {
    const BufferRef words = co_await vault.call<&Vault::words>();
    std::array<std::uint64_t, 8> local{};
    local.fill(value);
    const BufferRef half = words.subrange(64, 64);
    co_await half.write_from(std::span(local));
    co_await words.subrange(0, 8).fetch_add(value);
    co_await half.read_into(std::span(local));
    co_return local[0] + co_await vault.call<&Vault::sum>();
  }

  static constexpr auto endpoints = ferry::endpoints<&Visitor::visit>;
};

inline constexpr auto kBusyActors = ferry::actors<Vault, Visitor>;

inline Task<void> be_busy(Context context, std::uint64_t value) {
  try {
    auto vaults = co_await context.this_host().spawn_procs({{"vault", 1}});
    auto visitors = co_await context.this_host().spawn_procs({{"visitor", 2}});
    auto vault = co_await vaults.spawn<Vault>("vault");
    auto mesh = co_await visitors.spawn<Visitor>("visitor");
    co_await mesh.call<&Visitor::visit>(vault.only(), value);
  } catch (const MeshError&) {
  } catch (const Error&) {
  }
}

inline WorldResult run_busy(const WorldOptions& options, std::uint64_t value = 7) {
  return sim::run(options, kBusyActors, [value](Context& context) { return be_busy(context, value); }).result;
}

}  // namespace ferry::sim::test
