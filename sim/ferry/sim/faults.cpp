#include <ferry/sim/faults.hpp>

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace ferry::sim {

std::string_view to_string(Fault fault) noexcept {
  constexpr std::array<std::string_view, kFaults> kNames{
      "crash",   "pause", "drift",       "spawn_failure", "registration_fails", "mailbox_full", "endpoint_throws",
      "buggify", "loss",  "duplication", "lateness",      "slow_nics",          "partition",
  };
  return kNames[static_cast<std::size_t>(fault)];
}

std::string to_text(Faults faults) {
  std::string text;
  for (std::size_t index = 0; index < kFaults; ++index) {
    if (const auto fault = static_cast<Fault>(index); faults.has(fault)) {
      text += text.empty() ? "" : ",";
      text += to_string(fault);
    }
  }
  return text.empty() ? "none" : text;
}

Result<Faults> parse_faults(std::string_view text) {
  Faults faults;
  if (text == "none") {
    return faults;
  }
  for (;;) {
    const std::string_view word = text.substr(0, text.find(','));
    const auto is_named = [word](std::size_t index) { return to_string(static_cast<Fault>(index)) == word; };
    std::size_t index = 0;
    while (index < kFaults && !is_named(index)) {
      ++index;
    }
    if (index == kFaults) {
      return Failure(errc::malformed, fmt::format("\"{}\" is no fault; all of them: {}", word, to_text(Faults::all)));
    }
    faults = faults | static_cast<Fault>(index);
    if (word.size() == text.size()) {
      return faults;
    }
    text.remove_prefix(word.size() + 1);
  }
}

}  // namespace ferry::sim
