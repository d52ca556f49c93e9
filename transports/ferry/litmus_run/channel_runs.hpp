// ChannelRuns: litmus tests on ferry's own operations between processes of this host: the body of RealTransport for
// shm and tcp.
//
// Starts a process for each litmus node, as many as the largest test so far needs, and uses them for every test.
#pragma once

#include <string>

#include <ferry/litmus_run/litmus_host.hpp>
#include <ferry/run/node.hpp>
#include <ferry/sim/litmus/runner/real_transport.hpp>

namespace ferry::litmus_run {

// Options of the nodes, in the processes that are started too.
NodeOptions node_options(const std::string& transport);

class ChannelRuns final : public litmus::runner::RealTransport {
 public:
  // "shm" or "tcp".
  static Result<std::unique_ptr<RealTransport>> open(const std::string& transport);

  std::optional<std::string> why_not(const litmus::Program& program) const override;
  Result<litmus::runner::RealSample> run(const litmus::Program& program, std::size_t runs, std::uint64_t seed) override;
  std::string remark() const override;

 private:
  ChannelRuns(const std::string& transport, Board board);

  Task<SightingsReport> run_on_processes(const litmus::Program& program, RunOrder order);

  Task<Result<SightingsReport>> run_on(ActorRef<LitmusHost> host, RunOrder order);

  const std::string transport_;
  Board board_;
  Node node_;
  std::vector<ActorRef<LitmusHost>> hosts_;  // by node
};

}  // namespace ferry::litmus_run
