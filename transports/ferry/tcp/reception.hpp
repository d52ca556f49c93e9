// Reception: the front door of a process: a listening socket, and everybody who has come in and not said yet who he is.
//
// Owner: who serves those that have: TcpTransport, TcpControlNetwork. Any thread. A stranger has a bounded time and a
// bounded amount of memory, and there are at most kStrangers; beyond, the oldest is sent away.
#pragma once

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <ferry/tcp/channel.hpp>
#include <ferry/tcp/greeter.hpp>
#include <ferry/tcp/listener.hpp>
#include <ferry/tcp/session.hpp>
#include <ferry/transport/node_core.hpp>
#include <ferry/transport/reactor.hpp>

namespace ferry::tcp {

struct TcpOptions {
  // Where to listen: an address, "fe80::1%eth0", a name, "0.0.0.0" or "::" for every network. Empty: this host only.
  std::string host;
  std::uint16_t port = 0;  // 0: one that is free
};

// Whoever has come in and proved that he belongs to the job.
struct Guest {
  Socket socket;
  ChannelBuffers buffers;
  std::shared_ptr<Session> session;  // its takeover has begun, and is the receiver's to finish
  std::string who;                   // for texts
  std::vector<Address> addresses;    // where he listens himself
  std::string name;                  // perhaps empty
};

class Reception final : private GreeterEvents, private ListenerEvents {
 public:
  // Sockets that have not authenticated; beyond, the oldest is closed for a new one.
  static constexpr std::size_t kStrangers = 256;

  // Called in a poll.
  class Host {
   public:
    virtual void on_guest(Guest&& guest) noexcept = 0;

   protected:
    ~Host() = default;
  };

  // secret: what guests must know. label: of log lines, "tcp".
  Reception(Host& host, NodeCore& node, const JobSecret& secret, std::string label, const Channel::Context& context);
  ~Reception();

  // address_in_use, invalid_argument, …; asks a name server if options.host is a name.
  Result<void> listen(const TcpOptions& options);
  // Where it can be reached; empty before listen().
  std::vector<Endpoint> endpoints() const;

  // Nobody comes in any more; returns once on_guest() does not run and never will. Idempotent.
  void close() noexcept;

  SessionTable& sessions() noexcept { return sessions_; }
  std::size_t strangers() const;

 private:
  std::shared_ptr<Session> on_authenticated(Greeter& greeter) noexcept override;
  void on_greeted(Greeter& greeter, Socket socket, ChannelBuffers buffers,
                  std::shared_ptr<Session> session) noexcept override;
  void on_greeting_failed(Greeter& greeter, const Failure* why) noexcept override;
  void on_accepted(Socket socket, const SocketAddress& from) noexcept override;
  bool on_out_of_descriptors() noexcept override;

  void greet(Socket socket, const SocketAddress& from);
  std::shared_ptr<Greeter> take(Greeter& greeter) noexcept;
  void end_stranger(const std::shared_ptr<Greeter>& greeter, const Failure& why) noexcept;
  void done_greeting() noexcept;

  Host& host_;
  NodeCore& node_;
  const JobSecret secret_;
  const std::string label_;
  const Channel::Context context_;
  SessionTable sessions_;

  mutable std::mutex mutex_;
  std::condition_variable idle_;
  bool is_closed_ = false;
  int greeting_ = 0;  // greeters that were taken off the list and are being dealt with
  std::unique_ptr<Listener> listener_;
  std::vector<Endpoint> endpoints_;
  std::list<std::shared_ptr<Greeter>> greeters_;  // oldest first
};

}  // namespace ferry::tcp
