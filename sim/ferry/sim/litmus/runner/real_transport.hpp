// RealTransport: what runs a litmus test for real, on a transport and not on the machine. Its body stands above the
// simulator, which knows no transports (transports/ferry/litmus_run); ferry-litmus is given it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <ferry/base/result.hpp>
#include <ferry/sim/litmus/program.hpp>

namespace ferry::sim::litmus::runner {

struct RealSample {
  std::map<Outcome, std::size_t> hits;
  std::size_t stuck = 0;  // runs that ended in no outcome: a thread waited for what could not come any more
};

class RealTransport {
 public:
  virtual ~RealTransport() = default;

  // Why this transport cannot run the test; none where it can.
  virtual std::optional<std::string> why_not(const Program& program) const = 0;

  // Runs it so many times. Fails where an operation or a process did: nothing is known then.
  virtual Result<RealSample> run(const Program& program, std::size_t runs, std::uint64_t seed) = 0;

  // What a reader of the results has to know; empty or a phrase.
  virtual std::string remark() const { return {}; }
};

// By name: "shm", "tcp", "verbs". Fails where there is no such transport here, and says why.
using OpenRealTransport = std::function<Result<std::unique_ptr<RealTransport>>(const std::string& name)>;

}  // namespace ferry::sim::litmus::runner
