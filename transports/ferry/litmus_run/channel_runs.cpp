#include <ferry/litmus_run/channel_runs.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include <ferry/base/as_result.hpp>
#include <ferry/base/start.hpp>
#include <ferry/sim/litmus/program_text.hpp>

namespace ferry::litmus_run {

namespace {

// Tests of the same shape shall not make the same pauses.
std::uint64_t seed_for(const litmus::Program& program, std::uint64_t seed) {
  return std::accumulate(program.name.begin(), program.name.end(), seed, [](std::uint64_t mixed, char letter) {
    return mix64(mixed ^ static_cast<unsigned char>(letter));
  });
}

}  // namespace

NodeOptions node_options(const std::string& transport) {
  NodeOptions options;
  options.transports = transport;
  options.threads = 1;  // the litmus threads are beside it
  return options;
}

Result<std::unique_ptr<litmus::runner::RealTransport>> ChannelRuns::open(const std::string& transport) {
  auto board = Board::create();
  if (!board) {
    return board.error();
  }
  try {
    return std::unique_ptr<RealTransport>(new ChannelRuns(transport, std::move(*board)));
  } catch (const Error& error) {
    return error.failure();
  }
}

ChannelRuns::ChannelRuns(const std::string& transport, Board board)
    : transport_(transport), board_(std::move(board)), node_(node_options(transport), actors<LitmusHost>) {}

std::optional<std::string> ChannelRuns::why_not(const litmus::Program& program) const {
  const std::size_t bytes = layout_of(program).slot_bytes();
  return bytes > kMaxBatchBytes ? std::optional(fmt::format("its locations take {} bytes", bytes)) : std::nullopt;
}

std::string ChannelRuns::remark() const {
  return "atomics in the cpu domain";
}

Result<litmus::runner::RealSample> ChannelRuns::run(const litmus::Program& program, std::size_t runs,
                                                    std::uint64_t seed) {
  if (const auto laid_out = board_.lay_out(program, layout_of(program)); !laid_out) {
    return laid_out.error();
  }
  RunOrder order;
  order.runs = runs;
  order.seed = seed_for(program, seed);
  order.jitter = transport_ == "shm" ? 6 : 11;
  litmus::runner::RealSample sample;
  if (program.nodes.empty()) {
    return sample;
  }
  try {
    SightingsReport report = node_.block_on(run_on_processes(program, order));
    for (std::size_t index = 0; index < report.outcomes.size(); ++index) {
      const auto& values = report.outcomes[index];
      const auto registers = values.begin() + static_cast<std::ptrdiff_t>(program.locations.size());
      sample.hits[{{values.begin(), registers}, {registers, values.end()}}] = report.hits[index];
    }
    sample.stuck = report.stuck;
  } catch (const Error& error) {
    return error.failure();
  }
  return sample;
}

Task<SightingsReport> ChannelRuns::run_on_processes(const litmus::Program& program, RunOrder order) {
  Context context = node_.context();
  while (hosts_.size() < program.nodes.size()) {
    auto started = context.this_host().spawn_procs({{"nodes", 1}});
    ProcMesh process = co_await started;
    auto made = process.spawn<LitmusHost>("node", board_.place());
    const ActorMesh<LitmusHost> mesh = co_await made;
    hosts_.push_back(mesh.only());
  }
  std::vector<ActorRef<LitmusHost>> used(hosts_.begin(),
                                         hosts_.begin() + static_cast<std::ptrdiff_t>(program.nodes.size()));
  const std::string text = litmus::to_text(program);
  std::vector<BufferRef> memory;
  for (std::uint32_t node = 0; node < used.size(); ++node) {
    auto prepared = used[node].call<&LitmusHost::prepare>(text, node);
    memory.push_back(co_await prepared);
  }
  const std::size_t nodes = used.size();
  const ActorMesh<LitmusHost> all(Shape{Dimension("nodes", nodes)}, used);
  auto connected = all.call<&LitmusHost::connect>(memory);
  co_await connected;
  std::vector<Running<Result<SightingsReport>>> running;
  for (const ActorRef<LitmusHost>& host : used) {
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

Task<Result<SightingsReport>> ChannelRuns::run_on(ActorRef<LitmusHost> host, RunOrder order) {
  auto call = as_result(host.call<&LitmusHost::run>(order));
  auto report = co_await call;
  if (!report) {
    board_.give_up();  // nobody shall wait for this node
  }
  co_return report;
}

}  // namespace ferry::litmus_run
