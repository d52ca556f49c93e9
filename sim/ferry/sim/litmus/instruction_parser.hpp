// The parser of one instruction line.
#pragma once

#include <string_view>

#include <ferry/sim/litmus/line_reader.hpp>
#include <ferry/sim/litmus/program.hpp>
#include <ferry/sim/litmus/test_names.hpp>

namespace ferry::sim::litmus {

// Every mnemonic, for errors.
inline constexpr std::string_view kMnemonics = "st, ld, wait, mf, cas, faa, put, get, rfaa, rcas, poll or rpoll";

// Whether a line that begins with this word is an instruction; the flags after the first dot are not looked at.
bool is_instruction(std::string_view word) noexcept;

// Takes the whole line and appends it to the thread. A register that is written for the first time is added.
void parse_instruction(LineReader& reader, TestNames& names, Program& program, ThreadIndex thread);

}  // namespace ferry::sim::litmus
