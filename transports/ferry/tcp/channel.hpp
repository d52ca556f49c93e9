// Channel: one authenticated socket with its buffers, its turns and its signs of life. Both ends of a connection have
// one; what the frames mean is for its ChannelEnd (TcpConnection, TcpInbound).
//
// Owner: the end, through a shared_ptr. poll() comes from the Reactor; pump() and fail() from any thread that holds the
// end's lock. Bytes are sent by whoever has something to send: a thread that finds another one sending leaves its
// frames to that one. A channel breaks once, and the end is told of it in poll() only.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include <ferry/base/executor.hpp>
#include <ferry/tcp/buffers.hpp>
#include <ferry/tcp/frames.hpp>
#include <ferry/tcp/socket.hpp>
#include <ferry/transport/connection.hpp>
#include <ferry/transport/node_core.hpp>
#include <ferry/transport/reactor.hpp>

namespace ferry::tcp {

enum class Taken : unsigned char {
  some,       // bytes were taken, perhaps more can be
  need_more,  // a frame is not all there
  no_room,    // what it asks for has no room in the send buffer; later
  ended       // nothing more is to be read
};

// The header that begins here. None: it is not all there, or malformed; `otherwise` and `why` are what take() answers.
std::optional<wire::FrameHeader> whole_header(wire::ByteView bytes, Taken& otherwise, Failure& why);

class ChannelEnd {
 public:
  // Appends frames that wait, as far as they fit. The lock is held.
  virtual void fill(SendBuffer& out) noexcept = 0;

  // Takes received bytes from the front, a multiple of eight; malformed in `why` ends the channel. Poller, no lock.
  virtual Taken take(wire::ByteView bytes, std::size_t& count, Failure& why) noexcept = 0;

  // Once in each poll that did something: what must happen without the lock.
  virtual void settle() noexcept = 0;

  // The channel broke. Once, in poll(), without the lock; the end removes the channel from the reactor.
  virtual void on_broken(const Failure& why, PeerState state) noexcept = 0;

  // What a heartbeat tells: the last atomic whose answer has arrived. The lock is held.
  virtual std::uint64_t acknowledged() const noexcept = 0;

 protected:
  ~ChannelEnd() = default;
};

class Channel final : public EventSource, public std::enable_shared_from_this<Channel> {
 public:
  struct Context {
    Reactor& reactor;
    Executor& executor;
    const NodeLimits& limits;
    Stats& stats;
    TrafficCounters& traffic;
  };

  // `mutex` is the end's, which guards the channel too. who: of the peer, for error texts.
  Channel(ChannelEnd& end, std::mutex& mutex, Socket socket, ChannelBuffers buffers, std::string who,
          const Context& context);
  ~Channel();

  // Joins the reactor and starts the clock. The lock is held.
  void begin();
  // Afterwards nothing of the channel runs or will. Once; not under the lock; no begin() comes behind it. gently: see
  // Socket::close_gently.
  void end(bool gently) noexcept;

  // The lock is held for all of these.
  SendBuffer& out() noexcept { return out_; }
  bool is_broken() const noexcept { return static_cast<bool>(failure_); }
  // Sends what waits, about kTurnBytes of it, unless another thread is at it, which then sends this too; the rest is
  // left to poll(). Releases the lock meanwhile.
  void pump(std::unique_lock<std::mutex>& lock) noexcept;
  static constexpr std::size_t kTurnBytes = std::size_t{1} << 20;
  // The first failure counts, unless a later one says that the peer is gone.
  void fail(const Failure& why, PeerState state) noexcept;
  // The next poll has something to do.
  void ask_for_attention() noexcept;

  const std::string& who() const noexcept { return who_; }

  bool poll() noexcept override;
  int descriptor() const noexcept override { return socket_.get(); }
  bool prepare_to_sleep(bool& write) noexcept override;
  void woken() noexcept override { empty_polls_ = 0; }

 private:
  struct Clock : Timer {
    explicit Clock(Channel& owner) noexcept
        : Timer([](Timer& timer) noexcept { static_cast<Clock&>(timer).channel.tick(); }), channel(owner) {}
    Channel& channel;
  };

  bool receive() noexcept;
  bool process() noexcept;
  void end_broken() noexcept;
  void tick() noexcept;
  void watch_peer() noexcept;
  Failure lost(int error, const char* during) const;

  ChannelEnd& end_;
  std::mutex& mutex_;
  Socket socket_;
  const std::string who_;
  Context context_;
  const Duration tick_;
  const Duration::rep heartbeat_ticks_;  // of sending nothing until a heartbeat is due
  const Duration::rep silence_ticks_;    // of receiving nothing until the peer counts as lost

  ReceiveBuffer in_;               // the poller's, with what follows
  std::uint32_t empty_polls_ = 0;  // since something came, or since a sleep
  bool has_unread_ = false;
  bool stream_ended_ = false;
  std::atomic<bool> paused_{false};    // input waits for room in the send buffer
  std::atomic<bool> received_{false};  // since the last tick
  std::atomic<bool> attention_{false};
  std::atomic<bool> blocked_{false};  // the socket took less than there was; changed under mutex_

  // Under mutex_.
  SendBuffer out_;
  bool begun_ = false;
  bool sending_ = false;
  bool sent_ = false;  // since the last tick
  bool heartbeat_due_ = false;
  bool ended_ = false;
  Duration::rep silent_ticks_ = 0;
  Duration::rep idle_ticks_ = 0;
  Failure failure_{};
  PeerState state_ = PeerState::unknown;
  Clock clock_;
};

}  // namespace ferry::tcp
