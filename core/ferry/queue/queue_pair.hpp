// QueuePair: two queues of a device, connected to those of one other queue pair, reliably: every request executes at
// most once, or its completion says that nothing is known. QueueEvents: who is told.
//
// Bodies: the simulator's NIC; verbs. Owner: whoever created it; the QueueEvents outlive it. post() and post_receive()
// may be called from any thread, one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <ferry/base/failure.hpp>
#include <ferry/base/result.hpp>
#include <ferry/queue/work.hpp>
#include <ferry/wire/bytes.hpp>

namespace ferry::queue {

class QueuePair;

// Called from the device's polling, one call at a time per queue pair, never from inside a call to the queue pair. Any
// queue pair may be destroyed from within, also the one that the event is about.
class QueueEvents {
 public:
  // Requests in the order of posting (class srd: in any), receives likewise; none between both. After a failure every
  // later one is `flushed`, until everything posted has ended.
  virtual void on_completion(QueuePair& queue, const WorkCompletion& completion) noexcept = 0;
  // The device reports that the queue pair is of no use any more, though no request failed: its port or device went,
  // or completions were lost. Completions may still follow; stop() makes them come.
  virtual void on_queue_lost(QueuePair& queue, const Failure& why) noexcept = 0;

 protected:
  ~QueueEvents() = default;
};

// How much of a request the other end has accepted, for good.
enum class Acceptance : std::uint8_t { unknown, none, part, whole };

struct QueuePairOptions {
  std::size_t requests = 128;     // posted and not completed, at most
  std::size_t receives = 128;     // same
  bool endless_rnr_retry = true;  // a send waits for a receive as long as it takes; else a few times
};

class QueuePair {
 public:
  // Nothing of it touches local memory afterwards; completions that were not told are dropped.
  virtual ~QueuePair() = default;

  // What the other end must know to connect(), at most 64 bytes. Constant.
  virtual wire::Bytes address() const = 0;

  // Once, at both ends, with the other's address(). Receives may be posted before. malformed, resource_exhausted, …
  virtual Result<void> connect(wire::ByteView other) = 0;

  // Posts all of them, with one doorbell, or none: resource_exhausted when there is no room (QueuePairOptions, or the
  // device's), invalid_argument. On a stopped queue pair they complete `flushed`.
  virtual Result<void> post(std::span<const WorkRequest> requests) = 0;

  virtual Result<void> post_receive(std::uint64_t id, std::byte* local, std::size_t length,
                                    std::uint32_t local_key) = 0;

  // To the error state: no request begins any more and none of the other end is accepted; what was accepted from it is
  // in memory when this returns, with its receive completions on the way. Everything posted here ends, mostly
  // `flushed`, by QueueEvents. Idempotent.
  virtual void stop() noexcept = 0;

  // After stop(): true if it had stopped because it refused a request of the other end. Then all before that one had
  // been executed, whichever it was. It was not, nor was anything behind it; unless it is a get, which may have been
  // sent again, and refused only then. (The other end is told of a refusal only if nothing gets lost.) Devices of class
  // srd, which go on after a refusal, and those that cannot tell: false.
  virtual bool has_refused() const noexcept { return false; }

  // After stop(): how far the requests of the other end were accepted, in a number that it understands. None: the
  // device cannot tell.
  virtual std::optional<std::uint32_t> progress() const noexcept { return std::nullopt; }
  // After stop(), what the other end's progress() says of a request that was posted here; `whole` of one that has
  // completed with success.
  virtual Acceptance acceptance(std::uint64_t id, std::uint32_t progress) const noexcept {
    static_cast<void>(id), static_cast<void>(progress);
    return Acceptance::unknown;
  }
};

}  // namespace ferry::queue
