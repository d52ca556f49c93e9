// Programs and their parts as litmus text, which parse() reads back.
#pragma once

#include <string>

#include <ferry/sim/litmus/program.hpp>

namespace ferry::sim::litmus {

// The whole test, one instruction a line, ending with a new line.
std::string to_text(const Program& program);

// "put.fence q x@B <- a@A"; the thread is the one that the instruction belongs to.
std::string to_text(const Program& program, const Instruction& instruction);
std::string to_text(const Program& program, const Operation& operation);

// "b@A = 1 & (A:r = 0 | x@B != 2)", with the parentheses that are needed.
std::string to_text(const Program& program, const Condition& question);

}  // namespace ferry::sim::litmus
