// LitmusHost: the actor that plays one node of litmus programs, as the program that starts the processes calls it.
//
// Way says what a litmus queue is there:
//   static queue::Device* device(NodeCore& node);   // each a queue pair of that device; null: independent operations
//   static constexpr bool kAtomicsWithCPU;          // remote atomics exclude the owner's processor
//   static constexpr std::string_view kRemark;      // what a reader of results has to know
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ferry/actor/actor.hpp>
#include <ferry/actor/endpoints.hpp>
#include <ferry/litmus_run/litmus_node.hpp>

namespace ferry::litmus_run {

// Over ferry's own operations, by whichever transport the node has.
struct OverChannels {
  static queue::Device* device(NodeCore& /*node*/) noexcept { return nullptr; }
  static constexpr bool kAtomicsWithCPU = true;
  static constexpr std::string_view kRemark = "atomics in the cpu domain";
};

template <class Way>
class LitmusHost final : public Actor {
 public:
  LitmusHost(ActorContext& context, BoardPlace board) : node_(context, board, Way::device(context.node())) {}

  Task<BufferRef> prepare(std::string text, std::uint32_t node) { return node_.prepare(std::move(text), node); }
  Task<std::vector<QueueAddresses>> connect(std::vector<BufferRef> memory) { return node_.connect(std::move(memory)); }
  void join(const std::vector<QueueAddresses>& addresses) { node_.join(addresses); }
  Task<SightingsReport> run(RunOrder order) { return node_.run(order); }

  static constexpr auto endpoints =
      ferry::endpoints<&LitmusHost::prepare, &LitmusHost::connect, &LitmusHost::join, &LitmusHost::run>;

 private:
  LitmusNode node_;
};

}  // namespace ferry::litmus_run
