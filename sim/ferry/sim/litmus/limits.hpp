// The bounds of a litmus test. The parser refuses what exceeds them, so that the machine and its encoding need no
// check.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ferry::sim::litmus {

// Of one test. Far beyond what can be explored, and small enough that every index fits one byte.
inline constexpr std::size_t kMaxLocations = 200;
inline constexpr std::size_t kMaxQueues = 60;
inline constexpr std::size_t kMaxThreads = 60;
inline constexpr std::size_t kMaxInstructions = 200;     // of all threads together
inline constexpr std::size_t kMaxChunks = 60;            // of one operation
inline constexpr std::size_t kMaxConditionTerms = 1000;  // of one `ask`
inline constexpr std::size_t kMaxConditionDepth = 100;   // of parentheses and negations
inline constexpr std::size_t kMaxNameLength = 100;       // bytes
inline constexpr std::size_t kMaxFileSize = 16 << 20;    // bytes

static_assert(kMaxLocations < 256 && kMaxQueues < 256 && kMaxThreads < 256 && kMaxInstructions < 256);
static_assert(kMaxInstructions * kMaxChunks < 65536);

}  // namespace ferry::sim::litmus
