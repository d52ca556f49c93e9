#include "cluster.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <ferry/transport/peer.hpp>

namespace parameter_server {
namespace {

constexpr int kTries = 5;  // in a row, to train a share in an epoch, and to find a process for it

// A step is -rate times the mean gradient of a batch. Steps that workers compute at the same time are computed on the
// same weights, and add up as if they were one: with many workers, training overshoots. So beyond eight workers a batch
// is small, and the rate with it: all together have 64 rows at a time, and a row weighs what it always weighs.
constexpr std::uint32_t kBatch = 32;
constexpr float kRate = 0.5F;
constexpr std::uint32_t kFullBatches = 8;
constexpr std::uint32_t kRowsAtOnce = 64;

std::uint32_t batch_of(std::uint32_t workers) {
  return workers <= kFullBatches ? kBatch : std::max(kRowsAtOnce / workers, 1U);
}

}  // namespace

WorkerOptions Cluster::options() const {
  const std::uint32_t batch = batch_of(settings_.workers);
  const float rate = kRate * static_cast<float>(batch) / kBatch;
  return {settings_.workers, batch, rate, settings_.seed, !settings_.suppress_pushes, settings_.data};
}

std::uint64_t Cluster::steps_per_epoch() const noexcept {
  const std::uint64_t rows = settings_.training_rows;
  const std::uint64_t batch = batch_of(settings_.workers);
  std::uint64_t steps = 0;
  for (std::uint32_t worker = 0; worker < settings_.workers; ++worker) {
    const std::uint64_t share = rows / settings_.workers + (worker < rows % settings_.workers ? 1 : 0);
    steps += (share + batch - 1) / batch;
  }
  return steps;
}

ferry::Task<std::unique_ptr<Cluster>> Cluster::start(ferry::Context context, Settings settings) {
  std::unique_ptr<Cluster> cluster(new Cluster(context, std::move(settings)));
  auto starting = cluster->start_all();
  co_await starting;
  co_return cluster;
}

ferry::Task<void> Cluster::start_all() {
  auto servers = co_await context_.this_host().spawn_procs({{"server", 1}});
  auto processes = co_await context_.this_host().spawn_procs({{"workers", settings_.workers}});
  auto server = co_await servers.spawn<ParameterServer>("server", settings_.data);
  server_ = server.only();
  const WorkerOptions common = options();
  auto workers = co_await processes.spawn<Worker>("worker", common);
  for (std::uint32_t share = 0; share < settings_.workers; ++share) {
    auto joining = join(processes.slice("workers", share), workers[share], share);
    members_.push_back(co_await joining);
  }
  transport_ = processes.peer(0).transport_name();  // chosen with the first call
}

ferry::Task<Cluster::Member> Cluster::join(ferry::ProcMesh process, ferry::ActorRef<Worker> actor,
                                           std::uint32_t share) {
  const std::uint32_t desk = co_await server_.call<&ParameterServer::open_desk>();
  co_await actor.call<&Worker::join>(server_, desk, share);
  co_return Member{process, actor, desk, ferry::start(server_.call<&ParameterServer::serve>(desk))};
}

ferry::Task<Cluster::Member> Cluster::hire(std::uint32_t share) {
  auto process = co_await context_.this_host().spawn_procs({{"workers", 1}});
  const WorkerOptions common = options();
  auto workers = co_await process.spawn<Worker>("worker", common);
  auto joining = join(process, workers.only(), share);
  co_return co_await joining;
}

// Whatever the worker does from now on, that many of its steps have been added.
ferry::Task<std::uint64_t> Cluster::dismiss(Member& member) {
  co_await server_.call<&ParameterServer::close_desk>(member.desk);
  co_return co_await member.serving;
}

// A new worker for the share. How many steps the old one had got through that it could not report.
ferry::Task<std::uint64_t> Cluster::replace(std::uint32_t share) {
  auto dismissing = dismiss(members_[share]);
  const std::uint64_t added = co_await dismissing;
  auto stopping = ferry::as_result(members_[share].process.stop());  // if it lives, it has nothing to do any more
  static_cast<void>(co_await stopping);
  const std::uint64_t unreported = added - members_[share].trained;
  bytes_of_lost_ += members_[share].message_bytes;
  for (int tries = 1;; ++tries) {
    auto hiring = ferry::as_result(hire(share));
    ferry::Result<Member> hired = co_await hiring;
    if (hired) {
      members_[share] = std::move(*hired);
      ++replaced_;
      co_return unreported;
    }
    if (tries == kTries) {
      throw ferry::Error(hired.error());
    }
  }
}

ferry::Task<EpochReport> Cluster::train_share(std::uint32_t share, std::uint32_t epoch) {
  EpochReport sum;
  for (int tries = 1;; ++tries) {
    auto training = ferry::as_result(members_[share].actor.call<&Worker::train>(epoch, sum.steps));
    const ferry::Result<EpochReport> trained = co_await training;
    if (trained) {
      members_[share].trained += settings_.suppress_pushes ? 0 : trained->steps;
      sum.steps += trained->steps;
      sum.one_sided_bytes += trained->one_sided_bytes;
      co_return sum;
    }
    if (tries == kTries) {
      throw ferry::Error(trained.error());
    }
    auto replacing = replace(share);
    const std::uint64_t done = co_await replacing;
    sum.steps += done;
    sum.one_sided_bytes += done * sizeof(Slot);  // at least
  }
}

ferry::Task<EpochReport> Cluster::train(std::uint32_t epoch) {
  std::vector<ferry::Running<EpochReport>> shares;
  for (std::uint32_t share = 0; share < settings_.workers; ++share) {
    shares.push_back(ferry::start(train_share(share, epoch)));
  }
  EpochReport sum;
  for (auto& share : shares) {
    const EpochReport report = co_await share;
    sum.steps += report.steps;
    sum.one_sided_bytes += report.one_sided_bytes;
  }
  co_return sum;
}

ferry::Task<std::uint64_t> Cluster::message_bytes() {
  const Traffic of_server = co_await server_.call<&ParameterServer::traffic>();
  std::uint64_t sum = of_server.message_bytes + bytes_of_lost_;
  for (Member& member : members_) {
    auto asking = ferry::as_result(member.actor.call<&Worker::traffic>());
    const ferry::Result<Traffic> report = co_await asking;
    if (report) {
      member.message_bytes = report->message_bytes;
    }
    sum += member.message_bytes;
  }
  co_return sum;
}

ferry::Task<std::string> Cluster::finish(std::uint32_t epochs) {
  for (Member& member : members_) {
    auto asking = ferry::as_result(member.actor.call<&Worker::digest>());
    const ferry::Result<std::uint64_t> digest = co_await asking;  // none: it was lost after its last step
    auto dismissing = dismiss(member);
    const std::uint64_t added = co_await dismissing;
    if (added != member.trained) {
      co_return fmt::format("the server added {} steps of worker {}, which pushed {}", added, member.desk,
                            member.trained);
    }
    const std::uint64_t logged = co_await server_.call<&ParameterServer::digest>(member.desk);
    if (digest && *digest != logged) {
      co_return fmt::format("the steps that the server logged of worker {} are not those that it pushed", member.desk);
    }
  }
  const std::uint64_t steps = co_await server_.call<&ParameterServer::steps>();
  const std::uint64_t expected = settings_.suppress_pushes ? 0 : epochs * steps_per_epoch();
  if (steps != expected) {
    co_return fmt::format("the server added {} steps; the shares of all epochs are {}", steps, expected);
  }
  const bool sum_is_right = co_await server_.call<&ParameterServer::weights_are_the_sum_of_the_log>();
  co_return sum_is_right ? std::string() : "the final weights are not the initial ones plus the logged steps";
}

}  // namespace parameter_server
