// Litmus programs run for real with all their nodes in this process, over queues that the test makes; and what portable
// says of what was seen.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <ferry/litmus_run/node_runs.hpp>
#include <ferry/sim/litmus/explorer.hpp>
#include <ferry/sim/litmus/machine.hpp>
#include <ferry/sim/litmus/parser.hpp>
#include <ferry/sim/litmus/profile.hpp>

namespace ferry::litmus_run {

// By node.
using Memories = std::vector<std::byte*>;
using MakeQueue =
    std::function<std::unique_ptr<RealQueue>(const litmus::Program& program, litmus::QueueIndex queue,
                                             const Layout& layout, Board& board, const Memories& memories)>;

inline litmus::Program only_program(const std::string& text) {
  return litmus::parse("test", text).value().front();
}

class OneProcess {
 public:
  OneProcess(const litmus::Program& program, const Layout& layout, const MakeQueue& make)
      : program_(program), board_(Board::create().value()) {
    board_.lay_out(program, layout).value();
    for (std::size_t node = 0; node < program.nodes.size(); ++node) {
      lines_.emplace_back(layout.bytes() / sizeof(Line));
      memories_.push_back(reinterpret_cast<std::byte*>(lines_.back().data()));
    }
    for (litmus::NodeIndex node = 0; node < program.nodes.size(); ++node) {
      std::vector<std::unique_ptr<RealQueue>> queues(program.queues.size());
      for (litmus::QueueIndex queue = 0; queue < queues.size(); ++queue) {
        if (program.queues[queue].from == node) {
          queues[queue] = make(program, queue, layout, board_, memories_);
        }
      }
      nodes_.push_back(std::make_unique<NodeRuns>(program, node, layout, board_, memories_[node], std::move(queues)));
    }
  }

  // By node. The first one's sightings are those of all.
  std::vector<Result<Sightings>> run(const RunOrder& order) {
    std::vector<Result<Sightings>> results(nodes_.size(), Sightings{});
    {
      std::vector<std::jthread> running;
      for (std::size_t node = 0; node < nodes_.size(); ++node) {
        running.emplace_back([&, node] { results[node] = nodes_[node]->run(order); });
      }
    }
    return results;
  }

 private:
  struct alignas(kCacheLine) Line {
    std::byte bytes[kCacheLine];
  };

  const litmus::Program& program_;
  Board board_;
  std::vector<std::vector<Line>> lines_;
  Memories memories_;
  std::vector<std::unique_ptr<NodeRuns>> nodes_;
};

// How many runs ended in outcomes that portable does not have.
inline std::uint64_t runs_outside_portable(const litmus::Program& program, const Sightings& sightings) {
  const litmus::Machine machine(program, litmus::profile_of(litmus::ProfileName::portable));
  const auto portable = litmus::explore(machine).value();
  std::uint64_t outside = portable.stuck == 0 ? sightings.stuck : 0;
  for (const auto& [values, hits] : sightings.outcomes) {
    const auto registers = values.begin() + static_cast<std::ptrdiff_t>(program.locations.size());
    const litmus::Outcome outcome{{values.begin(), registers}, {registers, values.end()}};
    outside += std::binary_search(portable.outcomes.begin(), portable.outcomes.end(), outcome) ? 0 : hits;
  }
  return outside;
}

}  // namespace ferry::litmus_run
