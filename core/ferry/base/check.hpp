// FERRY_CHECK: an assumption about ferry's own state whose violation is a bug of ferry; on in every build.
//
// Never for bytes that came from a peer, arguments of a user, or answers of the operating system: those are errors.
#pragma once

namespace ferry {

// Prints the text and aborts. Out of line so that a check costs one predictable branch.
[[noreturn]] void check_failed(const char* expression, const char* file, int line) noexcept;

}  // namespace ferry

#define FERRY_CHECK(expression) \
  (static_cast<bool>(expression) ? static_cast<void>(0) : ::ferry::check_failed(#expression, __FILE__, __LINE__))
