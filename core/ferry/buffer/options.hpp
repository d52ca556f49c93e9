// Options of one-sided operations. Trivially copyable aggregates, to be written in place: `{.completion =
// transmitted}`.
//
// timeout: absolute, from the await; without one, an operation ends after NodeLimits::no_progress (60 s) in which
// nothing of it moved. stop: cancels it. Both end it quietly (contract: Quiet completion).
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>

#include <ferry/base/scope.hpp>
#include <ferry/memory/access.hpp>
#include <ferry/transport/operation.hpp>

namespace ferry {

using enum Completion;  // ferry::delivered, ferry::transmitted

struct WriteOptions {
  Completion completion = Completion::delivered;
  // Gives this tag to the owner's buffer.notifications() after the bytes are visible there; implies delivered.
  std::optional<std::uint64_t> notify{};
  std::optional<Duration> timeout{};
  StopTokenView stop{};
};

struct AtomicOptions {
  std::uint64_t offset = 0;  // bytes from the start of the referenced range, where the 8-byte word lies
  std::optional<Duration> timeout{};
  StopTokenView stop{};
};

struct RegisterOptions {
  Access rights = Access::all;  // the most that any reference to it may carry
  AtomicDomain atomics = AtomicDomain::cpu;
  // Peers can notify from the registration on. Otherwise from the first call of notifications(): a write with `notify`
  // that comes before is refused (unsupported).
  bool notifications = false;
};

static_assert(std::is_trivially_copyable_v<WriteOptions> && std::is_trivially_copyable_v<AtomicOptions> &&
              std::is_trivially_copyable_v<RegisterOptions>);

}  // namespace ferry
