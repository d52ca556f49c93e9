// RealQueue: one litmus queue, as its initiator sees it, with what has been posted to it in each run of a batch.
//
// Bodies: ChannelQueue (independent operations of ferry's own, over whichever transport reaches the peer),
// QueuePairQueue (one queue pair and raw requests). Owner: the initiator's process. One thread at a time: QueueLock.
#pragma once

#include <cstddef>

#include <ferry/base/failure.hpp>
#include <ferry/litmus_run/layout.hpp>

namespace ferry::litmus_run {

class RealQueue {
 public:
  virtual ~RealQueue() = default;

  // Forgets what was posted in this run of the last batch. Everything is_quiet().
  virtual void clear(std::size_t slot) noexcept = 0;

  // Starts an operation of this queue, in order behind those that were posted before. It may block for as long as the
  // operations before it take, never for what a litmus thread does. False: it could not be posted, see failure().
  virtual bool post(std::size_t slot, const litmus::Operation& operation) noexcept = 0;

  // Takes the next completion, in the order of posting; false where it has not arrived.
  virtual bool take_completion(std::size_t slot) noexcept = 0;

  // All that was posted in this run has ended and the owner's CPU sees what it wrote. Repeated until it is true; it may
  // post what makes it so.
  virtual bool is_quiet(std::size_t slot) noexcept = 0;

  // Why an operation of this run failed; none: none has. A failed operation is no outcome, but ends everything.
  virtual Failure failure(std::size_t slot) const = 0;
};

}  // namespace ferry::litmus_run
