// Proof: how each end of a new socket shows the other that it knows the job's secret, without sending it.
//
// HMAC-SHA256 over everything said so far, which contains a fresh nonce of either side, and over the role of who
// proves: neither an old proof nor the other side's own one fits. Comparison takes the same time for any wrong proof.
// Free functions; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include <ferry/base/result.hpp>
#include <ferry/transport/node_core.hpp>
#include <ferry/wire/bytes.hpp>

namespace ferry::tcp {

using Nonce = std::array<std::byte, 32>;
using Proof = std::array<std::byte, 32>;

// resource_exhausted if the system has no random numbers.
Result<Nonce> fresh_nonce();

// Each part counts with its length, so that no other cutting of the same bytes gives the same proof.
Proof prove(const JobSecret& secret, std::string_view role, std::span<const wire::ByteView> transcript);

bool is_same(const Proof& a, wire::ByteView b) noexcept;

}  // namespace ferry::tcp
