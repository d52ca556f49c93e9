// ferry-litmus: runs litmus tests on the fabric model. See README.md in the folder above.

#include <chrono>
#include <new>

#include <fmt/format.h>

#include <ferry/sim/litmus/runner/output.hpp>
#include <ferry/sim/litmus/runner/session.hpp>
#include <ferry/sim/litmus/runner/settings.hpp>

namespace {

std::chrono::steady_clock::time_point now() {
  return std::chrono::steady_clock::now();  // lint: allow(clock) how fast the explorer is, for --statistics alone
}

}  // namespace

int main(int argc, char** argv) {
  using namespace ferry::sim::litmus::runner;
  Settings settings;
  if (const auto status = parse_command_line(argc, argv, settings)) {
    return *status;
  }
  const auto begin = now();
  Session session(settings);
  int status = 0;
  try {
    status = session.run();
  } catch (const std::bad_alloc&) {
    complain("there is no memory left: lower --max-memory, or sample with --strategy random");
    return 2;
  }
  if (settings.statistics) {
    const double seconds = std::chrono::duration<double>(now() - begin).count();
    complain(fmt::format("{} states in {:.3f} s, {:.0f} states/s", session.states(), seconds,
                         static_cast<double>(session.states()) / seconds));
  }
  return status;
}
