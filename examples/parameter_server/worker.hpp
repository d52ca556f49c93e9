// Worker: trains on its share of the rows: pulls the weights, computes a step, pushes it; asynchronous to all others.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <ferry/ferry.hpp>

#include "server.hpp"

namespace parameter_server {

struct WorkerOptions {
  std::uint32_t worker = 0;
  std::uint32_t workers = 1;
  std::uint32_t batch = 32;
  float rate = 0.5F;
  std::uint64_t seed = 0;
  bool push = true;  // false: computes and throws away, to show that the pushes are what trains
  std::string data;
};

struct EpochReport {
  std::uint64_t steps = 0;
  std::uint64_t one_sided_bytes = 0;
};

class Worker : public ferry::Actor {
 public:
  Worker(ferry::ActorContext& context, const WorkerOptions& common);

  // Which worker this is, and whose weights it trains.
  ferry::Task<void> join(std::uint32_t worker, ferry::ActorRef<ParameterServer> server);
  ferry::Task<EpochReport> train(std::uint32_t epoch);
  std::uint64_t digest() { return digest_; }  // of the steps it has pushed, in order
  Traffic traffic();

  static constexpr auto endpoints = ferry::endpoints<&Worker::join, &Worker::train, &Worker::digest, &Worker::traffic>;

 private:
  ferry::Task<void> push(EpochReport& report);

  ferry::ActorContext& context_;
  WorkerOptions options_;
  Dataset data_;
  References server_;
  std::uint64_t pushed_ = 0;
  std::uint64_t applied_ = 0;
  std::uint64_t digest_ = 0;
  std::vector<float> weights_ = std::vector<float>(kWeights);
  Slot step_{};
};

}  // namespace parameter_server
