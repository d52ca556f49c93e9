// The parser of litmus text: a file in, its tests as Programs out, or the first thing that is wrong with it.
//
// The language is the one of README.md in this folder. A file is taken whole or not at all. Nothing is opened here.
#pragma once

#include <string_view>
#include <vector>

#include <ferry/base/result.hpp>
#include <ferry/sim/litmus/program.hpp>

namespace ferry::sim::litmus {

// `file` is the name that errors begin with. Fails with errc::malformed; detail() is one line, "FILE:LINE: found WHAT;
// expected WHAT". A file without a test is malformed. Every Program keeps the bounds of limits.hpp.
Result<std::vector<Program>> parse(std::string_view file, std::string_view text);

}  // namespace ferry::sim::litmus
