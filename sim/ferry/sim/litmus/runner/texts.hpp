// Words and values as ferry-litmus writes them, whatever it tells.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <ferry/sim/litmus/program.hpp>

namespace ferry::sim::litmus::runner {

using JSON = nlohmann::ordered_json;

// "1 run", "2 runs".
std::string counted(std::size_t count, std::string_view noun);

// {"a@A":1,"A:r":0}
JSON json_of(const Program& program, const Outcome& outcome);

}  // namespace ferry::sim::litmus::runner
