// Worker: trains on its share of the rows: pulls the weights, computes a step, pushes it; asynchronous to all others.
// The order of the steps hangs on seed, share and epoch alone: whoever replaces a lost worker goes on where it ended.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <ferry/ferry.hpp>

#include "server.hpp"

namespace parameter_server {

struct WorkerOptions {
  std::uint32_t workers = 1;  // each trains a share of the rows
  std::uint32_t batch = 32;   // rows of a step
  float rate = 0.5F;
  std::uint64_t seed = 0;
  bool push = true;  // false: computes and throws away, to show that the pushes are what trains
  std::string data;
};

// Of one call of train().
struct EpochReport {
  std::uint64_t steps = 0;
  std::uint64_t one_sided_bytes = 0;
};

class Worker : public ferry::Actor {
 public:
  Worker(ferry::ActorContext& context, const WorkerOptions& common);

  // Whose weights it trains, at which desk, and on which share of the rows.
  ferry::Task<void> join(ferry::ActorRef<ParameterServer> server, std::uint32_t desk, std::uint32_t share);
  // The steps of its share of that epoch, from number `first` on; ends when the server has added them.
  ferry::Task<EpochReport> train(std::uint32_t epoch, std::uint64_t first);
  std::uint64_t digest() { return digest_; }  // of the steps it has pushed, in order
  Traffic traffic();

  static constexpr auto endpoints = ferry::endpoints<&Worker::join, &Worker::train, &Worker::digest, &Worker::traffic>;

 private:
  std::vector<const Row*> shuffled_share(std::uint32_t epoch) const;
  ferry::Task<void> push(EpochReport& report);
  ferry::Task<void> wait_until_pending(std::uint64_t most, EpochReport& report);

  ferry::ActorContext& context_;
  WorkerOptions options_;
  Dataset data_;
  std::uint32_t share_ = 0;
  References server_;
  std::uint64_t pushed_ = 0;
  std::uint64_t applied_ = 0;
  std::uint64_t digest_ = 0;
  std::vector<float> weights_ = std::vector<float>(kWeights);
  Slot step_{};
};

}  // namespace parameter_server
