// ParameterServer: owns the weights. Workers read them one-sided, write their steps one-sided into slots of their own,
// and the server adds what it is notified of. No weight and no step ever travels in a message.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ferry/ferry.hpp>

#include "dataset.hpp"
#include "model.hpp"

namespace parameter_server {

// Each worker has two slots and uses them in turn.
inline constexpr std::size_t kSlots = 2;
struct Slot {
  float step[kWeights];
};

// What the server shares with one worker and with nobody else. A slot is free again when its step has been added.
struct Desk {
  std::uint64_t applied;  // steps that have been added
  Slot slots[kSlots];
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
  ParameterServer(ferry::ActorContext& context, const std::string& data);

  // A desk for a new worker, whose number is the next one: 0, 1, …
  std::uint32_t open_desk();
  References references(std::uint32_t worker);
  // Adds the steps of that worker as they are notified, until its desk is closed and all that had arrived is added. How
  // many they were: what is not among them will never be.
  ferry::Task<std::uint64_t> serve(std::uint32_t worker);
  // Revokes the references to that desk: afterwards the worker, alive or not, reaches nothing of it any more.
  ferry::Task<void> close_desk(std::uint32_t worker);

  std::uint64_t steps() const { return log_.size(); }
  Progress progress();
  // True if the weights are exactly the initial ones plus the logged steps, added in the order of the log.
  bool weights_are_the_sum_of_the_log();
  // A digest of the steps that came from one worker, in order; the worker has the same.
  std::uint64_t digest(std::uint32_t worker);
  Traffic traffic();

  static constexpr auto endpoints =
      ferry::endpoints<ferry::concurrent<&ParameterServer::open_desk>, ferry::concurrent<&ParameterServer::references>,
                       ferry::concurrent<&ParameterServer::serve>, ferry::concurrent<&ParameterServer::close_desk>,
                       ferry::concurrent<&ParameterServer::steps>, ferry::concurrent<&ParameterServer::progress>,
                       ferry::concurrent<&ParameterServer::weights_are_the_sum_of_the_log>,
                       ferry::concurrent<&ParameterServer::digest>, ferry::concurrent<&ParameterServer::traffic>>;

 private:
  struct SharedDesk {
    ferry::vector<Desk> memory;  // one
    ferry::RDMABuffer buffer;
  };
  struct Logged {
    std::uint32_t worker;
    Slot slot;
  };

  void add(std::uint32_t worker, const Slot& slot);

  ferry::ActorContext& context_;
  Dataset data_;
  ferry::vector<float> weights_;
  ferry::RDMABuffer weights_buffer_;
  std::vector<std::unique_ptr<SharedDesk>> desks_;  // by worker
  std::vector<Logged> log_;
};

// Adds one step to a running digest.
std::uint64_t digest_step(std::uint64_t digest, const float (&step)[kWeights]);

// What this process has sent so far.
Traffic traffic_of(const ferry::NodeCore& node);

}  // namespace parameter_server
