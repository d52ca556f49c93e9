// TcpInbound: the owner's end of a peer's channel: serves its one-sided requests from the RegionTable inside poll(),
// gives its messages to the MessageSink and takes the answers.
//
// Owner: the transport's list and the session, shared with whoever may still want to answer. Requests are executed in
// the order in which they came, except that bulky reads wait until there is room for their bytes, so that they do not
// hold up what is small. No request can make it keep more than a bounded amount of memory.
#pragma once

#include <array>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <set>

#include <ferry/tcp/channel.hpp>
#include <ferry/tcp/messages.hpp>
#include <ferry/tcp/session.hpp>
#include <ferry/transport/inbound.hpp>

namespace ferry::tcp {

// Told when an inbound has ended; implemented by TcpTransport.
class InboundOwner {
 public:
  // Any thread. Nothing of the inbound runs any more. for_good: its initiator will not come back.
  virtual void on_inbound_ended(TcpInbound& inbound, bool for_good) noexcept = 0;

 protected:
  ~InboundOwner() = default;
};

class TcpInbound final : public Inbound, public ChannelEnd, public std::enable_shared_from_this<TcpInbound> {
 public:
  TcpInbound(NodeCore& node, InboundOwner& owner, std::shared_ptr<Session> session, Socket socket,
             ChannelBuffers buffers, std::string who, const Channel::Context& context);

  // Begins to serve, unless it has been ended already: false.
  bool begin();

  // Ends it, unless it has ended; returns once nothing of it runs. goodbye: tells the initiator that this process ends.
  void end(const Failure& why, bool goodbye) noexcept;

  ProcessId peer() const noexcept override { return session_->initiator(); }
  bool send(wire::Bytes&& message) noexcept override;

  Session& session() noexcept { return *session_; }

 private:
  enum class State : unsigned char { open, ending, ended };

  // A write whose bytes are arriving.
  struct Write {
    bool active = false;
    std::uint64_t id = 0;
    std::uint8_t flags = 0;
    AccessRequest request{};
    std::array<Range, kRanges> ranges{};
    std::size_t range = 0;   // being filled
    std::uint64_t done = 0;  // bytes of it
    bool touched = false;    // a byte was written
    Failure failure{};
  };
  // A bulky read that waits for room.
  struct Read {
    std::uint64_t id = 0;
    AccessRequest request{};
    std::array<Range, kRanges> ranges{};
    std::size_t bytes = 0;  // of payload
  };

  // ChannelEnd.
  void fill(SendBuffer& out) noexcept override;
  Taken take(wire::ByteView bytes, std::size_t& count, Failure& why) noexcept override;
  void settle() noexcept override {}
  void on_broken(const Failure& why, PeerState state) noexcept override;
  std::uint64_t acknowledged() const noexcept override { return 0; }

  // inbound_datapath.cpp; the lock is held where a SendBuffer is passed.
  Taken take_frame(wire::ByteView bytes, std::size_t& count, Failure& why);
  Result<void> on_frame(const wire::FrameHeader& header, wire::ByteView payload, SendBuffer& out);
  Result<void> on_read(const wire::FrameHeader& header, wire::ByteView payload, SendBuffer& out);
  Result<void> on_atomic(const wire::FrameHeader& header, wire::ByteView payload, SendBuffer& out);
  void on_cancel(std::uint64_t id, SendBuffer& out);
  void serve_read(const Read& read, SendBuffer& out) noexcept;
  void answer(Kind kind, std::uint64_t id, SendBuffer& out) noexcept;
  void refuse(std::uint64_t id, std::uint64_t sequence, const Failure& why, SendBuffer& out);
  bool is_skipped(std::uint64_t sequence) const noexcept;

  // inbound_write.cpp
  Taken take_write(wire::ByteView bytes, std::size_t& count);
  Taken take_message(wire::ByteView bytes, std::size_t& count);
  Result<void> begin_write(const wire::FrameHeader& header, wire::ByteView head);
  void write_part(const std::byte* from, std::size_t count) noexcept;
  void finish_write();

  // inbound_control.cpp
  void finish(const Failure& why, bool gently) noexcept;

  NodeCore& node_;
  InboundOwner& owner_;
  Stats& stats_;
  const std::shared_ptr<Session> session_;

  std::mutex mutex_;  // guards the channel and what follows
  std::condition_variable ended_;
  State state_ = State::open;
  const std::shared_ptr<Channel> channel_;
  MessageQueue messages_;
  std::deque<Read> reads_;
  std::set<std::uint64_t> failed_sequences_;

  // The poller's.
  Write write_;
  MessageAssembly assembly_;
  Failure late_failure_{};  // of an unanswered write, for the next flush
  bool said_goodbye_ = false;
};

}  // namespace ferry::tcp
