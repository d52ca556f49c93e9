// Inbound: the owner's end of a peer's Connection; MessageSink: who takes the messages that arrive there.
//
// A transport serves one-sided requests itself, from the RegionTable, without the sink. Messages go to the sink; the
// answers return through the Inbound they came from, which is shared with whoever may still want to answer.
#pragma once

#include <memory>

#include <ferry/base/failure.hpp>
#include <ferry/memory/process_id.hpp>
#include <ferry/wire/bytes.hpp>

namespace ferry {

class Inbound {
 public:
  virtual ~Inbound() = default;

  // The authenticated initiator.
  virtual ProcessId peer() const noexcept = 0;

  // Queues an answer; false if the channel has ended (the initiator knows). Any thread; never waits.
  virtual bool send(wire::Bytes&& message) noexcept = 0;
};

// Implemented by the actor runtime. Called from polling threads: must not block nor run user code.
class MessageSink {
 public:
  virtual void on_request(const std::shared_ptr<Inbound>& from, wire::Bytes&& message) noexcept = 0;
  // The channel ended; nothing more arrives from it.
  virtual void on_inbound_closed(const std::shared_ptr<Inbound>& from, const Failure& why) noexcept = 0;

 protected:
  ~MessageSink() = default;
};

}  // namespace ferry
