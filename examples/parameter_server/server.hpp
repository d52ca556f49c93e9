// ParameterServer: owns the weights. Workers read them one-sided, write their steps one-sided into slots of their own,
// and the server adds what it is notified of. No weight and no step ever travels in a message.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ferry/ferry.hpp>

#include "dataset.hpp"
#include "model.hpp"

namespace parameter_server {

// What a worker reads in one go. `applied` counts, per worker, the steps that have been added: a slot is free again
// when its step has been.
struct Published {
  static constexpr std::size_t kMaxWorkers = 256;
  float weights[kWeights];
  std::uint64_t applied[kMaxWorkers];
};

// Each worker has two slots and uses them in turn.
inline constexpr std::size_t kSlots = 2;
struct Slot {
  float step[kWeights];
};

struct References {
  ferry::BufferRef weights;  // the weights, to read
  ferry::BufferRef applied;  // this worker's count of added steps, to read
  ferry::BufferRef slots;    // this worker's slots, to write
};

// One report of a process on what it has sent.
struct Traffic {
  std::uint64_t messages = 0;
  std::uint64_t message_bytes = 0;  // headers and notifications included
  std::uint64_t heartbeat_bytes = 0;
};

struct Progress {
  Quality held_out{};
  std::uint64_t steps = 0;
};

class ParameterServer : public ferry::Actor {
 public:
  ParameterServer(ferry::ActorContext& context, std::uint32_t workers, const std::string& data);

  References references(std::uint32_t worker);
  // Adds steps as they are notified, until `count` have been added in all.
  ferry::Task<void> apply(std::uint64_t count);
  std::uint64_t steps() { return log_.size(); }
  Progress progress();
  // True if the weights are exactly the initial ones plus the logged steps, added in the order of the log.
  bool weights_are_the_sum_of_the_log();
  // A digest of the steps that came from one worker, in order; the worker has the same.
  std::uint64_t digest(std::uint32_t worker);
  Traffic traffic();

  static constexpr auto endpoints =
      ferry::endpoints<&ParameterServer::references, ferry::concurrent<&ParameterServer::apply>,
                       ferry::concurrent<&ParameterServer::steps>, ferry::concurrent<&ParameterServer::progress>,
                       ferry::concurrent<&ParameterServer::weights_are_the_sum_of_the_log>,
                       ferry::concurrent<&ParameterServer::digest>, ferry::concurrent<&ParameterServer::traffic>>;

 private:
  struct Logged {
    std::uint32_t worker;
    Slot slot;
  };

  ferry::ActorContext& context_;
  Dataset data_;
  ferry::vector<Published> published_;  // one
  ferry::vector<Slot> slots_;           // kSlots per worker
  ferry::RDMABuffer published_buffer_;
  ferry::RDMABuffer slots_buffer_;
  std::vector<Logged> log_;
};

// Adds one step to a running digest.
std::uint64_t digest_step(std::uint64_t digest, const float (&step)[kWeights]);

// What this process has sent so far.
Traffic traffic_of(const ferry::NodeCore& node);

}  // namespace parameter_server
