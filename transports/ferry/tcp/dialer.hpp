// Dialer: one attempt to reach a process at one address: connects, then performs the initiator's handshake.
//
// Owner: the TcpConnection or ControlStream, through a shared_ptr. Reports once, from poll(), unless it is ended
// before; within its time limit, also if the process there is stopped and only its kernel answers. Does not wait
// anywhere.
#pragma once

#include <atomic>
#include <memory>

#include <ferry/base/executor.hpp>
#include <ferry/tcp/channel.hpp>
#include <ferry/tcp/handshake.hpp>
#include <ferry/tcp/socket.hpp>

namespace ferry::tcp {

class Dialer;

struct DialFailure {
  Failure why;
  bool refused = false;            // nobody listens there
  bool interrupted = false;        // cut during the handshake; another attempt may succeed
  bool other_process = false;      // of this job: it proved that
  bool other_incarnation = false;  // it is another life of the wanted one
};

class DialerEvents {
 public:
  virtual void on_dialed(Dialer& dialer, Socket socket, const Welcome& welcome) noexcept = 0;
  virtual void on_dial_failed(Dialer& dialer, const DialFailure& failure) noexcept = 0;

 protected:
  ~DialerEvents() = default;
};

class Dialer final : public EventSource, public std::enable_shared_from_this<Dialer> {
 public:
  // Begins to connect to the address, as text. hello.nonce is filled in. Null, with the reason, if that has failed
  // already.
  static std::shared_ptr<Dialer> create(DialerEvents& events, const Channel::Context& context,
                                        const std::string& target, const JobSecret& secret, const Hello& hello,
                                        Introduction introduction, DialFailure& failure);
  Dialer(DialerEvents& events, const Channel::Context& context, const SocketAddress& address, Socket socket,
         InitiatorHandshake handshake);

  // Joins the reactor; the attempt ends after `limit` at the latest.
  void begin(Duration limit);
  // Leaves it: no report comes afterwards. Once, after begin().
  void end() noexcept;

  const std::string& where() const noexcept { return where_; }

  bool poll() noexcept override;
  int descriptor() const noexcept override { return socket_.get(); }
  bool prepare_to_sleep(bool& write) noexcept override;
  void woken() noexcept override {}

 private:
  struct Clock : Timer {
    explicit Clock(Dialer& owner) noexcept
        : Timer([](Timer& timer) noexcept { static_cast<Clock&>(timer).dialer.expire(); }), dialer(owner) {}
    Dialer& dialer;
  };

  void expire() noexcept;
  bool converse();
  void fail(const DialFailure& failure) noexcept;

  DialerEvents& events_;
  Channel::Context context_;
  Socket socket_;
  const std::string where_;  // "127.0.0.1:4567"
  InitiatorHandshake handshake_;
  Duration limit_{};
  bool connecting_ = true;
  bool reported_ = false;
  std::atomic<bool> expired_{false};
  Clock clock_;
};

}  // namespace ferry::tcp
