// Random litmus programs: at most 3 nodes, 3 queues, 3 threads and 4 remote operations, with every instruction and
// flag.
//
// A program is made from a list of numbers, which RapidCheck draws and makes smaller: every list gives a program, and
// smaller numbers a simpler one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <ferry/sim/litmus/program.hpp>

namespace ferry::sim::litmus {

inline constexpr std::size_t kPicks = 120;  // numbers that a program may use

class Picks {
 public:
  explicit Picks(std::vector<std::uint32_t> numbers) : numbers_(std::move(numbers)) {}

  // A number below bound; 0 once the list is at its end.
  std::size_t below(std::size_t bound) { return at_ < numbers_.size() ? numbers_[at_++] % bound : 0; }
  bool one_in(std::size_t bound) { return below(bound) == bound - 1; }

 private:
  std::vector<std::uint32_t> numbers_;
  std::size_t at_ = 0;
};

// The text of a program; parse() takes it.
std::string random_program(Picks& picks);

}  // namespace ferry::sim::litmus
