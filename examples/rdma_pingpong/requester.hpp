// Requester: the measuring end: runs a workload against a Responder and gives what it took.
//
// `depth` lanes do one operation after the other, each on a slot of its own at both ends. Operations that take less
// than a few clock readings are timed in groups. With `verify` the lanes go in rounds of one operation (or group) each,
// contents and guard bytes are checked after every round, and only the rounds are on the clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <ferry/ferry.hpp>

#include "histogram.hpp"
#include "responder.hpp"
#include "slots.hpp"
#include "workload.hpp"

namespace rdma_pingpong {

// Latencies in nanoseconds. Of the tails only those that there are timings for, see Histogram::tail.
struct Latency {
  double min = 0;
  double p50 = 0;
  std::optional<double> p99;
  std::optional<double> p999;
  double max = 0;
  double mean = 0;
};

struct Measurement {
  std::string transport;
  Workload workload;
  std::uint64_t group = 1;  // operations timed together; the latencies are of group means
  double clock = 0;         // nanoseconds that a clock reading takes
  Latency latency;
  double seconds = 0;  // on the clock, for all iterations
  bool verified = false;

  double operations_per_second() const noexcept;
  double bytes_per_second() const noexcept;
};

// Something was not as it should be. what() names it.
class VerificationFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Used once, inside one task of the node.
class Requester {
 public:
  Requester(ferry::NodeCore& node, ferry::ActorRef<Responder> responder, const Workload& workload);

  // Throws ferry::Error, VerificationFailed.
  ferry::Task<Measurement> measure();

 private:
  struct Lane {
    ferry::BufferRef remote;
    std::span<std::byte> local;
    std::vector<std::byte> payload;  // calls: sent
    std::vector<std::byte> reply;    // … and the last that came back
    std::uint64_t left = 0;          // operations of this round
  };

  ferry::Task<void> prepare();
  ferry::Task<void> run_all(std::uint64_t operations, bool verify);
  ferry::Task<void> round(std::uint64_t operations);
  ferry::Task<void> run_lane(Lane& lane);
  ferry::Task<void> operate(Lane& lane, std::uint64_t count);

  ferry::Task<void> before_round(std::uint64_t seed);
  ferry::Task<void> after_round(std::uint64_t seed, std::uint64_t lanes);
  ferry::Task<void> verify_end();
  std::string wrong_additions(const Words& words) const;
  std::string wrong_swaps(const Words& words) const;
  void require(const std::string& wrong, const char* where) const;

  std::uint64_t clock_cost() const;  // picoseconds
  std::uint64_t choose_group() const;
  std::uint64_t next_word() noexcept { return operations_++ % words_; }

  const ferry::Executor& clock_;
  ferry::ActorRef<Responder> responder_;
  Workload workload_;
  std::uint64_t clock_cost_;

  Slots local_;
  ferry::BufferRef remote_;  // all memory of the responder
  std::vector<Lane> lanes_;

  Histogram histogram_;
  std::uint64_t group_ = 1;
  ferry::Duration busy_{};     // the sum of all operations
  ferry::Duration elapsed_{};  // from the first of a round to the last
  std::uint64_t seed_ = 0;     // of the last round

  // Atomics.
  ferry::BufferRef array_;
  std::uint64_t words_ = 0;
  std::uint64_t operations_ = 0;        // started
  std::uint64_t olds_ = 0;              // the sum of the old values, modulo 2^64
  std::uint64_t swapped_ = 0;           // compare_swaps that found what they expected
  std::vector<std::uint64_t> guesses_;  // what each word is thought to hold
};

}  // namespace rdma_pingpong
