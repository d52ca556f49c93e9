// RealProcesses: litmus tests between processes of this host: the body of RealTransport over actors of class
// LitmusHost<Way>.
//
// Starts a process for each litmus node, as many as the largest test so far needs, and uses them for every test. After
// a failure the processes are stopped, and the next test gets fresh ones.
#pragma once

#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <ferry/base/as_result.hpp>
#include <ferry/base/start.hpp>
#include <ferry/litmus_run/litmus_host.hpp>
#include <ferry/run/node.hpp>
#include <ferry/sim/litmus/program_text.hpp>
#include <ferry/sim/litmus/runner/real_transport.hpp>

namespace ferry::litmus_run {

// Options of the nodes, in the processes that are started too.
inline NodeOptions node_options(const std::string& transport) {
  NodeOptions options;
  options.transports = transport;
  options.threads = 1;  // the litmus threads are beside it
  return options;
}

template <class Way>
class RealProcesses final : public litmus::runner::RealTransport {
 public:
  struct Options {
    NodeOptions node{};
    unsigned jitter = 6;           // see ThreadPlace: what fits the time that an operation takes
    bool in_this_process = false;  // no processes are started: for tests
  };

  static Result<std::unique_ptr<RealTransport>> open(const Options& options) {
    auto board = Board::create();
    if (!board) {
      return board.error();
    }
    try {
      return std::unique_ptr<RealTransport>(new RealProcesses(options, std::move(*board)));
    } catch (const Error& error) {
      return error.failure();
    }
  }

  std::optional<std::string> why_not(const litmus::Program& program) const override {
    if (const std::size_t bytes = layout_for(program).slot_bytes(); bytes > kMaxBatchBytes) {
      return fmt::format("its locations take {} bytes", bytes);
    }
    return device_ == nullptr ? std::nullopt : why_not_on_queue_pairs(program, device_->limits(), Way::kAtomicsWithCPU);
  }

  std::string remark() const override { return std::string(Way::kRemark); }

  Result<litmus::runner::RealSample> run(const litmus::Program& program, std::size_t runs,
                                         std::uint64_t seed) override {
    litmus::runner::RealSample sample;
    if (program.nodes.empty()) {
      sample.hits[{}] = runs;
      return sample;
    }
    if (const auto laid_out = board_.lay_out(program, layout_for(program)); !laid_out) {
      return laid_out.error();
    }
    RunOrder order;
    order.runs = runs;
    order.seed = seed_for(program, seed);
    order.jitter = options_.jitter;
    try {
      const SightingsReport report = node_.block_on(run_on_all(program, order));
      for (std::size_t index = 0; index < report.outcomes.size(); ++index) {
        const auto& values = report.outcomes[index];
        const auto registers = values.begin() + static_cast<std::ptrdiff_t>(program.locations.size());
        sample.hits[{{values.begin(), registers}, {registers, values.end()}}] = report.hits[index];
      }
      sample.stuck = report.stuck;
    } catch (const Error& error) {
      node_.block_on(stop_all());
      return error.failure();
    }
    return sample;
  }

 private:
  using Host = LitmusHost<Way>;

  RealProcesses(const Options& options, Board board)
      : options_(options),
        board_(std::move(board)),
        node_(options.node, actors<Host>),
        device_(Way::device(node_.context().node())) {}

  Layout layout_for(const litmus::Program& program) const {
    return device_ == nullptr ? layout_of(program) : layout_for_queue_pairs(program);
  }

  // Tests of the same shape shall not make the same pauses.
  static std::uint64_t seed_for(const litmus::Program& program, std::uint64_t seed) {
    return std::accumulate(program.name.begin(), program.name.end(), seed, [](std::uint64_t mixed, char letter) {
      return mix64(mixed ^ static_cast<unsigned char>(letter));
    });
  }

  Task<void> start_hosts(std::size_t nodes) {
    Context context = node_.context();
    while (hosts_.size() < nodes) {
      ProcMesh process = context.this_proc();
      if (!options_.in_this_process) {
        auto started = context.this_host().spawn_procs({{"nodes", 1}});
        process = co_await started;
      }
      auto made = process.template spawn<Host>("", board_.place());
      const ActorMesh<Host> mesh = co_await made;
      processes_.push_back(process);
      hosts_.push_back(mesh.only());
    }
  }

  Task<void> stop_all() {
    hosts_.clear();
    for (ProcMesh& process : std::exchange(processes_, {})) {
      if (!options_.in_this_process) {
        auto stopped = as_result(process.stop());
        static_cast<void>(co_await stopped);
      }
    }
  }

  Task<SightingsReport> run_on_all(const litmus::Program& program, RunOrder order) {
    const std::size_t nodes = program.nodes.size();
    auto started = start_hosts(nodes);
    co_await started;
    const std::vector<ActorRef<Host>> used(hosts_.begin(), hosts_.begin() + static_cast<std::ptrdiff_t>(nodes));
    const ActorMesh<Host> all(Shape{Dimension("nodes", nodes)}, used);
    const std::string text = litmus::to_text(program);
    std::vector<BufferRef> memory;
    for (std::uint32_t node = 0; node < nodes; ++node) {
      auto prepared = used[node].template call<&Host::prepare>(text, node);
      memory.push_back(co_await prepared);
    }
    auto connected = all.template call<&Host::connect>(memory);
    const ValueMesh<std::vector<QueueAddresses>> ends = co_await connected;
    std::vector<QueueAddresses> addresses(program.queues.size());
    for (const std::vector<QueueAddresses>& of_node : ends) {
      for (std::size_t queue = 0; queue < addresses.size(); ++queue) {
        merge(addresses[queue].initiator, of_node[queue].initiator);
        merge(addresses[queue].owner, of_node[queue].owner);
      }
    }
    auto joined = all.template call<&Host::join>(addresses);
    co_await joined;

    std::vector<Running<Result<SightingsReport>>> running;
    for (const ActorRef<Host>& host : used) {
      running.emplace_back(run_on(host, order));
    }
    std::vector<Result<SightingsReport>> reports;
    for (auto& each : running) {
      reports.push_back(co_await each);
    }
    // One failure ends the others: the one that says what happened comes first.
    for (auto& report : reports) {
      if (!report && report.error().code() != errc::shut_down) {
        throw Error(report.error());
      }
    }
    if (!reports.front()) {
      throw Error(reports.front().error());
    }
    co_return std::move(*reports.front());
  }

  Task<Result<SightingsReport>> run_on(ActorRef<Host> host, RunOrder order) {
    auto call = as_result(host.template call<&Host::run>(order));
    auto report = co_await call;
    if (!report) {
      board_.give_up();  // nobody shall wait for this node
    }
    co_return report;
  }

  static void merge(std::vector<std::byte>& into, const std::vector<std::byte>& from) {
    if (!from.empty()) {
      into = from;
    }
  }

  const Options options_;
  Board board_;
  Node node_;
  queue::Device* const device_;
  std::vector<ProcMesh> processes_;
  std::vector<ActorRef<Host>> hosts_;  // by node
};

}  // namespace ferry::litmus_run
