// LitmusHost: the actor that runs one node of litmus programs in a process of its own, over ferry's own operations.
//
// prepare() for each node, then connect() for each, then run() on all at once; again for the next program.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ferry/actor/actor.hpp>
#include <ferry/actor/actor_context.hpp>
#include <ferry/actor/endpoints.hpp>
#include <ferry/base/start.hpp>
#include <ferry/buffer/allocator.hpp>
#include <ferry/litmus_run/node_runs.hpp>

namespace ferry::litmus_run {

// Sightings as a message.
struct SightingsReport {
  std::vector<std::vector<std::uint64_t>> outcomes;
  std::vector<std::uint64_t> hits;
  std::uint64_t stuck = 0;
};

class LitmusHost final : public Actor {
 public:
  LitmusHost(ActorContext& context, BoardPlace board);
  ~LitmusHost() override;

  // Makes room for this node of the program, given as text; its memory.
  Task<BufferRef> prepare(std::string text, std::uint32_t node);
  // The memory of all nodes.
  Task<void> connect(std::vector<BufferRef> memory);
  Task<SightingsReport> run(RunOrder order);

  static constexpr auto endpoints = ferry::endpoints<&LitmusHost::prepare, &LitmusHost::connect, &LitmusHost::run>;

 private:
  struct alignas(kCacheLine) Line {
    std::array<std::byte, kCacheLine> bytes;
  };

  Task<void> take_notifications(NotificationStream stream);
  std::byte* memory() noexcept { return reinterpret_cast<std::byte*>(lines_.data()); }

  ActorContext& context_;
  Board board_;
  litmus::Program program_;
  litmus::NodeIndex node_ = 0;
  Layout layout_{};
  ferry::vector<Line> lines_;
  RDMABuffer buffer_;
  std::optional<Running<void>> notifications_;
  std::unique_ptr<NodeRuns> runs_;
};

}  // namespace ferry::litmus_run
