#include <ferry/sim_guard/caller.hpp>

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>

#include <fmt/format.h>

#include <ferry/sim_guard/symbols.hpp>

namespace ferry::sim_guard {
namespace {

constexpr int kFrames = 64;

struct Frame {
  std::string function;  // empty: it has no name
  std::string object;    // file
  std::uintptr_t offset = 0;
};

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                          &std::free);
  std::string text = status == 0 && plain != nullptr ? plain.get() : name;
  return text.substr(0, text.find(" [clone"));  // a coroutine's parts are all its function
}

Frame frame_of(const void* return_address) {
  const auto address = reinterpret_cast<std::uintptr_t>(return_address) - 1;  // within the call
  Frame frame;
  Dl_info info{};
  link_map* map = nullptr;
  if (::dladdr1(reinterpret_cast<const void*>(address), &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0) {
    frame.offset = address;
    return frame;
  }
  frame.object = info.dli_fname;
  frame.offset = address - map->l_addr;
  // The program's own functions are rarely among the dynamic symbols that dladdr knows.
  const bool is_program = map->l_name == nullptr || *map->l_name == '\0';
  const std::string name = symbol_at(is_program ? "/proc/self/exe" : info.dli_fname, frame.offset);
  if (!name.empty()) {
    frame.function = demangled(name.c_str());
  } else if (info.dli_sname != nullptr) {
    frame.function = demangled(info.dli_sname);
  }
  return frame;
}

// Of the standard and the C library, and what their headers put into a program.
bool is_standard(const Frame& frame) {
  const std::string_view object = std::string_view(frame.object).substr(frame.object.rfind('/') + 1);
  if (object.starts_with("libstdc++.") || object.starts_with("libc++") || object.starts_with("libc.") ||
      object.starts_with("libgcc_s.")) {
    return true;
  }
  const std::string_view name = std::string_view(frame.function).substr(0, frame.function.find('('));
  return name.starts_with("std::") || name.find(" std::") != std::string_view::npos;
}

}  // namespace

std::string describe_caller(const void* return_address) {
  std::array<void*, kFrames> addresses{};
  const int count = ::backtrace(addresses.data(), kFrames);
  const auto end = addresses.begin() + count;
  auto next = std::find(addresses.begin(), end, return_address);
  Frame caller = frame_of(return_address);
  const Frame immediate = caller;
  while (is_standard(caller) && next != end && ++next != end) {
    caller = frame_of(*next);
  }
  const std::string through =
      immediate.offset == caller.offset || immediate.function.empty() ? "" : " through " + immediate.function;
  return fmt::format("{} ({}+{:#x}){}", caller.function.empty() ? "a function without a name" : caller.function,
                     caller.object, caller.offset, through);
}

}  // namespace ferry::sim_guard
