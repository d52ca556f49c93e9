// verbs_failure: a Failure that says which verbs call failed, with the error's name, and the remedy if there is one.
// Internal; a value, any thread.
#pragma once

#include <string_view>

#include <ferry/base/failure.hpp>

namespace ferry::verbs {

// error: an errno. "ibv_create_qp on rxe0: Cannot allocate memory (ENOMEM)". Memory that may not be locked names the
// limit and how to raise it. What runs out is resource_exhausted, a missing permission access_denied, else `fallback`.
Failure verbs_failure(int error, std::string_view call, std::string_view on, errc fallback);

// The same of memory that could not be registered.
Failure registration_failure(int error, std::size_t length, std::string_view device);

}  // namespace ferry::verbs
