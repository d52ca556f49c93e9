// The litmus text: whatever is given is taken or refused with one line, and what is taken means the same after writing
// and reading; then the machine runs it a little.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <ferry/sim/litmus/explorer.hpp>
#include <ferry/sim/litmus/parser.hpp>
#include <ferry/sim/litmus/program_text.hpp>
#include <ferry/sim/litmus/sampler.hpp>

namespace {

using namespace ferry::sim::litmus;

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

void run(const Program& program) {
  const std::string text = to_text(program);
  const auto again = parse("again", text);
  require(again && again->size() == 1 && to_text(again->front()) == text);
  for (const ProfileName profile : {ProfileName::strict, ProfileName::portable}) {
    const Machine machine(program, profile_of(profile));
    static_cast<void>(explore(machine, {300, {}}));
    static_cast<void>(sample(machine, {SamplingStrategy::pct, 2, 1}));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto programs = parse("f", std::string_view(reinterpret_cast<const char*>(data), size));
  if (programs) {
    for (const Program& program : *programs) {
      run(program);
    }
  } else {
    const std::string& detail = programs.error().detail();
    require(detail.starts_with("f:") && detail.find('\n') == std::string::npos);
    require(detail.find(": found ") != std::string::npos && detail.find("; expected ") != std::string::npos);
  }
  return 0;
}
