// system_failure: a Failure that says what the operating system refused, with the error's number, text and remedy.
//
// A value; any thread.
#pragma once

#include <string_view>

#include <ferry/base/failure.hpp>

namespace ferry::system {

// "setting up the event loop: Too many open files (EMFILE): raise the limit of open files, `ulimit -n`". The code is
// resource_exhausted for what runs out, otherwise `fallback`.
Failure system_failure(int error, std::string_view attempted, errc fallback = errc::resource_exhausted);

// "No such file or directory (ENOENT)".
std::string error_text(int error);

}  // namespace ferry::system
