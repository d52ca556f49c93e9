// ControlStream: a control link of the queue layer over one authenticated socket: dialing it, if it is this process's
// to dial, then messages both ways, signs of life, and its end. Internal; see control_network.hpp.
//
// Shared by its link and by what runs on it. Any thread; events come without the lock, from polls or a timer, one at a
// time: a stream that dials has no channel, one that has a channel does not dial.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <ferry/queue/control.hpp>
#include <ferry/tcp/channel.hpp>
#include <ferry/tcp/dial_plan.hpp>
#include <ferry/tcp/messages.hpp>

namespace ferry::tcp {

// What is remembered of one peer from dialing to dialing.
struct DialMemory {
  std::mutex mutex;
  std::uint64_t last_socket = 0;  // its number
  std::string where;              // of the last one that was authenticated; empty: none was
};

class ControlStream final : public std::enable_shared_from_this<ControlStream>,
                            private ChannelEnd,
                            private DialerEvents {
 public:
  struct Context {
    NodeCore& node;
    JobSecret secret;
    Channel::Context channel;
  };

  // begin() or dial() follows, once.
  ControlStream(const Context& context, queue::ControlEvents& events, ProcessId peer);

  // Of a socket that was accepted.
  void begin(Socket socket, ChannelBuffers buffers, const std::string& who);
  // Tries the addresses in turn, until NodeLimits::handshake is over; an event follows.
  void dial(std::vector<std::string> targets, std::shared_ptr<DialMemory> memory) noexcept;

  ProcessId peer() const noexcept { return peer_; }
  bool send(wire::Bytes&& message) noexcept;
  // No event follows; waits for one that runs on another thread.
  void close() noexcept;

 private:
  enum class State : unsigned char { idle, dialing, open, ended };

  struct Redial : Timer {
    explicit Redial(ControlStream& owner) noexcept
        : Timer([](Timer& timer) noexcept { static_cast<Redial&>(timer).stream.dial_next(); }), stream(owner) {}
    ControlStream& stream;
  };

  // An event is under way that no poll or timer stands for once channel, dialer and timer are let go: close() waits.
  class Telling {
   public:
    Telling(ControlStream& stream, const std::unique_lock<std::mutex>& lock) noexcept;  // locked
    ~Telling();                                                                         // not locked
    Telling(const Telling&) = delete;
    Telling& operator=(const Telling&) = delete;

   private:
    ControlStream& stream_;
  };

  // ChannelEnd.
  void fill(SendBuffer& out) noexcept override;
  Taken take(wire::ByteView bytes, std::size_t& count, Failure& why) noexcept override;
  void settle() noexcept override {}
  void on_broken(const Failure& why, PeerState state) noexcept override;
  std::uint64_t acknowledged() const noexcept override { return 0; }

  // DialerEvents.
  void on_dialed(Dialer& dialer, Socket socket, const Welcome& welcome) noexcept override;
  void on_dial_failed(Dialer& dialer, const DialFailure& failure) noexcept override;

  void dial_next() noexcept;
  void give_up(const Failure& why, PeerState state) noexcept;
  void give_up_all() noexcept;
  std::shared_ptr<Channel> make_channel(Socket socket, ChannelBuffers buffers, const std::string& who);
  Taken take_frame(wire::ByteView bytes, std::size_t& count, Failure& why);

  const Context context_;
  queue::ControlEvents& events_;
  const ProcessId peer_;

  std::mutex mutex_;  // guards the channel and what follows
  State state_ = State::idle;
  std::condition_variable told_;
  std::thread::id teller_{};  // the thread that tells an event
  std::shared_ptr<Channel> channel_;
  MessageQueue messages_;
  MessageAssembly assembly_;  // the poller's

  // While dialing.
  std::shared_ptr<DialMemory> memory_;
  DialPlan plan_;
  std::shared_ptr<Dialer> dialer_;
  Redial redial_;
};

}  // namespace ferry::tcp
