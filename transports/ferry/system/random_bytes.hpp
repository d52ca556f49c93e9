// random_bytes: from the operating system's generator; good for secrets and identities.
#pragma once

#include <cstddef>
#include <span>

namespace ferry::system {

// Any thread. Blocks only while the system has not gathered entropy since boot. Aborts where the system gives none.
void random_bytes(std::span<std::byte> out) noexcept;

}  // namespace ferry::system
