// TcpConnection: what this process initiates toward one peer over TCP, over the life of many sockets.
//
// Owner: the Peer. Any thread. Control (opening, breaking, closing) is in connection_control.cpp, what happens on an
// open channel in connection_datapath.cpp; Requests keeps the operations. Callbacks come without the lock; close()
// waits for those that run on other threads.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <ferry/tcp/channel.hpp>
#include <ferry/tcp/dial_plan.hpp>
#include <ferry/tcp/messages.hpp>
#include <ferry/tcp/requests.hpp>
#include <ferry/transport/connection.hpp>
#include <ferry/transport/peer.hpp>

namespace ferry::tcp {

class TcpConnection final : public Connection, private ChannelEnd, private DialerEvents {
 public:
  TcpConnection(NodeCore& node, const Peer& peer, ConnectionEvents& events, const Channel::Context& context);
  ~TcpConnection() override;

  void open() noexcept override;
  Started start(Operation& operation) noexcept override;
  void cancel(Operation& operation, const Failure& why) noexcept override;
  bool abandon(Operation& operation) noexcept override;
  bool send(wire::Bytes&& message) noexcept override;
  void close(const Failure& why) noexcept override;
  bool pipelines_sequences() const noexcept override { return true; }
  TransportId transport() const noexcept override { return TransportId::tcp; }
  std::string describe() const override;

 private:
  // ending: one thread takes the channel apart.
  enum class State : unsigned char { idle, dialing, open, ending };

  // Ends the channel if a cancelled operation is not silent in time.
  struct SilenceTimer : Timer {
    explicit SilenceTimer(TcpConnection& owner) noexcept
        : Timer([](Timer& timer) noexcept { static_cast<SilenceTimer&>(timer).connection.check_silence(); }),
          connection(owner) {}
    TcpConnection& connection;
    bool armed = false;
  };

  struct RedialTimer : Timer {
    explicit RedialTimer(TcpConnection& owner) noexcept
        : Timer([](Timer& timer) noexcept { static_cast<RedialTimer&>(timer).connection.redial(); }),
          connection(owner) {}
    TcpConnection& connection;
  };

  // This thread is calling back, or about to.
  class Calling {
   public:
    Calling(TcpConnection& connection, std::unique_lock<std::mutex>& lock);  // locked
    ~Calling();                                                              // not locked

   private:
    TcpConnection& connection_;
  };

  // ChannelEnd.
  void fill(SendBuffer& out) noexcept override;
  Taken take(wire::ByteView bytes, std::size_t& count, Failure& why) noexcept override;
  void settle() noexcept override;
  void on_broken(const Failure& why, PeerState state) noexcept override;
  std::uint64_t acknowledged() const noexcept override { return requests_.acknowledged(); }

  // DialerEvents.
  void on_dialed(Dialer& dialer, Socket socket, const Welcome& welcome) noexcept override;
  void on_dial_failed(Dialer& dialer, const DialFailure& failure) noexcept override;

  // Datapath.
  Taken take_frame(wire::ByteView bytes, std::size_t& count, Failure& why);
  Taken take_message(wire::ByteView bytes, std::size_t& count);

  // connection_dial.cpp
  void dial_next() noexcept;
  void redial() noexcept;
  void give_up_dialing(const Failure* reason, PeerState state) noexcept;
  void open_channel(Socket socket, const std::string& where, const Welcome& welcome) noexcept;

  // connection_control.cpp
  bool is_calling_here() const noexcept;
  void wait_for_callers(std::unique_lock<std::mutex>& lock) noexcept;
  void give_back_unsent(std::unique_lock<std::mutex>& lock, Channel& channel, const Failure& why) noexcept;
  void wait_while_ending(std::unique_lock<std::mutex>& lock) noexcept;
  void take_down(std::unique_lock<std::mutex>& lock, const Failure& why) noexcept;
  void watch_silence() noexcept;
  void check_silence() noexcept;
  static void reopened(Operation& trigger) noexcept;

  NodeCore& node_;
  const Peer& peer_;
  ConnectionEvents& events_;
  const Channel::Context context_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;  // state_, callers_, or an abandoned operation has ended
  State state_ = State::idle;
  std::vector<std::thread::id> callers_;
  Requests requests_;
  MessageQueue messages_;
  MessageAssembly assembly_;  // the poller's
  std::shared_ptr<Channel> channel_;
  bool was_open_ = false;
  SilenceTimer silence_;

  // Atomics that wait for a channel need one: this operation, given to the Peer to start again, makes it open one.
  Operation reopen_{};
  bool reopen_is_out_ = false;

  // While dialing.
  std::shared_ptr<Dialer> dialer_;
  DialPlan plan_;
  RedialTimer redial_;
  std::uint64_t last_channel_ = 0;  // its number
  std::string where_;               // of the last channel
};

}  // namespace ferry::tcp
