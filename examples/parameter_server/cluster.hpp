// Cluster: the server and its workers, each in a process of its own, and what is done when a worker is lost.
//
// A worker that dies, or cannot go on, is replaced by a new one in a new process. First the server closes the lost
// one's desk: what it has pushed until then counts, what it may still push reaches nobody. So the server knows how many
// steps of its share are done, and the new worker goes on with the next one: every step is added once. The loss of the
// server ends the training.
//
// The root's, and used by one task.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ferry/ferry.hpp>

#include "server.hpp"
#include "settings.hpp"
#include "worker.hpp"

namespace parameter_server {

class Cluster {
 public:
  static ferry::Task<std::unique_ptr<Cluster>> start(ferry::Context context, Settings settings);

  // One pass of all workers over their shares. Throws Error where a share has no luck with one worker after another.
  ferry::Task<EpochReport> train(std::uint32_t epoch);
  // Bytes of all messages so far, as far as it is known of workers that were lost.
  ferry::Task<std::uint64_t> message_bytes();
  // Ends the work. What did not hold, after so many epochs; empty if everything did.
  ferry::Task<std::string> finish(std::uint32_t epochs);

  const ferry::ActorRef<ParameterServer>& server() const noexcept { return server_; }
  const std::string& transport() const noexcept { return transport_; }
  std::uint64_t steps_per_epoch() const noexcept;
  std::uint64_t replaced() const noexcept { return replaced_; }

 private:
  // Who trains a share of the rows.
  struct Member {
    ferry::ProcMesh process;
    ferry::ActorRef<Worker> actor;
    std::uint32_t desk;
    ferry::Running<std::uint64_t> serving;  // the server's part of it
    std::uint64_t trained = 0;              // steps that it has reported
    std::uint64_t message_bytes = 0;        // same
  };

  Cluster(ferry::Context context, Settings settings) : context_(context), settings_(std::move(settings)) {}

  WorkerOptions options() const;
  ferry::Task<void> start_all();
  ferry::Task<Member> join(ferry::ProcMesh process, ferry::ActorRef<Worker> actor, std::uint32_t share);
  ferry::Task<Member> hire(std::uint32_t share);
  ferry::Task<std::uint64_t> dismiss(Member& member);
  ferry::Task<std::uint64_t> replace(std::uint32_t share);
  ferry::Task<EpochReport> train_share(std::uint32_t share, std::uint32_t epoch);

  ferry::Context context_;
  Settings settings_;
  ferry::ActorRef<ParameterServer> server_;
  std::vector<Member> members_;  // by share
  std::string transport_;
  std::uint64_t replaced_ = 0;
  std::uint64_t bytes_of_lost_ = 0;
};

}  // namespace parameter_server
