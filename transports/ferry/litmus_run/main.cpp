// ferry-litmus: runs litmus tests on the fabric model, and for real on transports. See README.md in this folder.

#include <ferry/litmus_run/over_verbs.hpp>
#include <ferry/litmus_run/real_processes.hpp>
#include <ferry/run/router.hpp>
#include <ferry/run/run.hpp>
#include <ferry/sim/litmus/runner/run_program.hpp>
#include <ferry/sim/litmus/runner/settings.hpp>

namespace {

using namespace ferry::litmus_run;

// An operation takes some hundred nanoseconds on shm, some microseconds on a device, some ten on tcp.
constexpr unsigned kShmJitter = 6;
constexpr unsigned kVerbsJitter = 9;
constexpr unsigned kTcpJitter = 11;

ferry::Result<std::unique_ptr<litmus::runner::RealTransport>> open_transport(const std::string& name) {
  if (name == "verbs" && !ferry::has_verbs()) {
    return ferry::Failure(ferry::errc::unsupported, "--transport verbs: this build has no verbs transport");
  }
  if (name == "verbs") {
    return RealProcesses<OverVerbs>::open({node_options(name), kVerbsJitter, false});
  }
  return RealProcesses<OverChannels>::open({node_options(name), name == "shm" ? kShmJitter : kTcpJitter, false});
}

}  // namespace

int main(int argc, char** argv) {
  litmus::runner::Settings settings;
  if (const auto status = litmus::runner::parse_command_line(argc, argv, settings)) {
    return *status;
  }
  if (settings.transport == "verbs") {
    ferry::serve_if_child(ferry::actors<LitmusHost<OverVerbs>>, node_options(*settings.transport));
  } else if (settings.transport) {
    ferry::serve_if_child(ferry::actors<LitmusHost<OverChannels>>, node_options(*settings.transport));
  }
  return litmus::runner::run_program(settings, open_transport);
}
