// describe_caller: who called an interposed function, in words. Internal to sim_guard.
#pragma once

#include <string>

namespace ferry::sim_guard {

// "Worker::train() (./prog+0x1234)": the innermost caller that is none of the standard library's, its object file and
// the offset in it, as addr2line takes it. A caller in between is named too: "… through
// std::chrono::_V2::steady_clock::now()". return_address: of a function that is on this thread's stack.
std::string describe_caller(const void* return_address);

}  // namespace ferry::sim_guard
