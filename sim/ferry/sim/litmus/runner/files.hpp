// Files in and out, whole, with errors that say what was tried and why it failed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <ferry/base/result.hpp>
#include <ferry/sim/litmus/program.hpp>

namespace ferry::sim::litmus::runner {

// The tests of all files, in order.
Result<std::vector<Program>> read_tests(const std::vector<std::string>& files);

// Makes the directory, and those above it, unless it is there.
Result<void> make_directory(const std::string& directory);

// Writes a new file or replaces one.
Result<void> write_file(const std::string& path, std::string_view contents);

}  // namespace ferry::sim::litmus::runner
