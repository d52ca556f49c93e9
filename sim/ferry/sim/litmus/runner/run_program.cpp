#include <ferry/sim/litmus/runner/run_program.hpp>

#include <chrono>
#include <new>

#include <fmt/format.h>

#include <ferry/sim/litmus/runner/output.hpp>
#include <ferry/sim/litmus/runner/real_session.hpp>
#include <ferry/sim/litmus/runner/session.hpp>

namespace ferry::sim::litmus::runner {
namespace {

std::chrono::steady_clock::time_point now() {
  return std::chrono::steady_clock::now();  // lint: allow(clock) how fast it is, for --statistics alone
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(now() - begin).count();
}

int run_for_real(const Settings& settings, const OpenRealTransport& open) {
  const auto transport = open(*settings.transport);
  if (!transport) {
    complain(transport.error().detail());
    return kFailed;
  }
  const auto begin = now();
  RealSession session(settings, **transport);
  const int status = session.run();
  if (settings.statistics) {
    const double seconds = seconds_since(begin);
    complain(fmt::format("{} runs in {:.3f} s, {:.0f} runs/s", session.runs(), seconds,
                         static_cast<double>(session.runs()) / seconds));
  }
  return status;
}

int run_on_the_machine(const Settings& settings) {
  const auto begin = now();
  Session session(settings);
  const int status = session.run();
  if (settings.statistics) {
    const double seconds = seconds_since(begin);
    complain(fmt::format("{} states in {:.3f} s, {:.0f} states/s", session.states(), seconds,
                         static_cast<double>(session.states()) / seconds));
  }
  return status;
}

}  // namespace

int run_program(const Settings& settings, const OpenRealTransport& open) {
  try {
    return settings.transport ? run_for_real(settings, open) : run_on_the_machine(settings);
  } catch (const std::bad_alloc&) {
    complain("there is no memory left: lower --max-memory, or sample with --strategy random");
    return kFailed;
  }
}

}  // namespace ferry::sim::litmus::runner
