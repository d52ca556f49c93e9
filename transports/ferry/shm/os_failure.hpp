// os_failure: a Failure that says what the operating system refused, why, and what can be done about it.
//
// A value; any thread.
#pragma once

#include <string_view>

#include <ferry/base/failure.hpp>

namespace ferry::shm {

// "mapping 4096 bytes: Cannot allocate memory (ENOMEM): …". The code is resource_exhausted for what runs out (files,
// memory), otherwise `fallback`.
Failure os_failure(int error, std::string_view attempted, errc fallback);

}  // namespace ferry::shm
