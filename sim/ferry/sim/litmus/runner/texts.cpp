#include <ferry/sim/litmus/runner/texts.hpp>

#include <fmt/format.h>

namespace ferry::sim::litmus::runner {

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

JSON json_of(const Program& program, const Outcome& outcome) {
  JSON json = JSON::object();
  for (LocationIndex index = 0; index < program.locations.size(); ++index) {
    json[location_name(program, index)] = outcome.memory[index];
  }
  for (RegisterIndex index = 0; index < program.registers.size(); ++index) {
    json[register_name(program, index)] = outcome.registers[index];
  }
  return json;
}

}  // namespace ferry::sim::litmus::runner
