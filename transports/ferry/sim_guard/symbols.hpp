// symbol_at: a function's name from the symbol table of an ELF file. Internal to sim_guard.
#pragma once

#include <cstdint>
#include <string>

namespace ferry::sim_guard {

// Mangled; of the function that the offset (an address as the file was linked) lies in. Empty: the file has none there,
// was stripped, or is no ELF file of this machine.
std::string symbol_at(const char* file, std::uintptr_t offset);

}  // namespace ferry::sim_guard
