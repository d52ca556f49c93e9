// Greeter: one accepted socket until its initiator has authenticated itself and its earlier channel is gone; then it
// becomes a TcpInbound, or else is closed with one line in the log.
//
// Owner: the transport's list, through a shared_ptr. A stranger gets a bounded time and a bounded amount of memory.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include <ferry/base/executor.hpp>
#include <ferry/tcp/channel.hpp>
#include <ferry/tcp/handshake.hpp>
#include <ferry/tcp/session.hpp>
#include <ferry/tcp/socket.hpp>

namespace ferry::tcp {

class Greeter;

// Implemented by TcpTransport. Called in poll().
class GreeterEvents {
 public:
  // Authenticated. The session that it belongs to, for the time until its inbound begins.
  virtual std::shared_ptr<Session> on_authenticated(Greeter& greeter) noexcept = 0;
  // The earlier channel is gone and the initiator was told: the socket is an inbound's now, with its buffers.
  virtual void on_greeted(Greeter& greeter, Socket socket, ChannelBuffers buffers,
                          std::shared_ptr<Session> session) noexcept = 0;
  // It is over; why: null if that is no news to anybody.
  virtual void on_greeting_failed(Greeter& greeter, const Failure* why) noexcept = 0;

 protected:
  ~GreeterEvents() = default;
};

class Greeter final : public EventSource, public std::enable_shared_from_this<Greeter> {
 public:
  Greeter(GreeterEvents& events, const Channel::Context& context, Socket socket, std::string where,
          OwnerHandshake handshake, std::string name);

  // Joins the reactor and starts the clock.
  void begin();
  // Leaves it: no report comes afterwards. Once, after begin().
  void end() noexcept;
  // Makes the next poll report that it is over, for `why`; any thread.
  void give_up(const Failure& why) noexcept;

  const std::string& where() const noexcept { return where_; }
  const OwnerHandshake& handshake() const noexcept { return handshake_; }

  bool poll() noexcept override;
  int descriptor() const noexcept override { return socket_.get(); }
  bool prepare_to_sleep(bool& write) noexcept override;
  void woken() noexcept override {}

 private:
  struct Clock : Timer {
    explicit Clock(Greeter& owner) noexcept
        : Timer([](Timer& timer) noexcept { static_cast<Clock&>(timer).greeter.expire(); }), greeter(owner) {}
    Greeter& greeter;
  };

  void expire() noexcept;
  bool converse() noexcept;
  bool flush() noexcept;
  bool make_buffers() noexcept;
  bool take_over() noexcept;
  void fail(const Failure* why) noexcept;

  GreeterEvents& events_;
  Channel::Context context_;
  Socket socket_;
  const std::string where_;  // the initiator's address
  OwnerHandshake handshake_;
  const std::string name_;  // this process's
  std::shared_ptr<Session> session_;
  std::optional<ChannelBuffers> buffers_;  // of the inbound; made before the initiator is told that it may begin
  bool authenticated_ = false;
  bool reported_ = false;
  std::atomic<bool> given_up_{false};
  std::mutex mutex_;
  Failure given_up_for_{};
  Clock clock_;
};

}  // namespace ferry::tcp
