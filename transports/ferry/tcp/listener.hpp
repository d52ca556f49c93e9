// Listener: the listening socket of a process; hands out what it accepts and keeps doing so, whatever comes.
//
// Owner: the transport. Out of descriptors it asks for one, and if there is none it takes the caller in and sends it
// away, so that the caller knows and the queue goes on.
#pragma once

#include <cstdint>
#include <memory>

#include <ferry/base/log.hpp>
#include <ferry/tcp/socket.hpp>
#include <ferry/transport/reactor.hpp>

namespace ferry::tcp {

class ListenerEvents {
 public:
  virtual void on_accepted(Socket socket, const SocketAddress& from) noexcept = 0;
  // A descriptor is needed: closes something that is of little value. False: there is nothing.
  virtual bool on_out_of_descriptors() noexcept = 0;

 protected:
  ~ListenerEvents() = default;
};

class Listener final : public EventSource {
 public:
  // Binds and listens. port 0: one that the system chooses. address_in_use with the remedy; nothing is left behind.
  static Result<std::unique_ptr<Listener>> create(ListenerEvents& events, Log& log, Stats& stats,
                                                  const SocketAddress& address);
  Listener(ListenerEvents& events, Log& log, Stats& stats, Socket socket) noexcept;

  SocketAddress address() const noexcept { return socket_.local(); }

  bool poll() noexcept override;
  int descriptor() const noexcept override { return socket_.get(); }
  bool prepare_to_sleep(bool&) noexcept override { return true; }
  void woken() noexcept override { polls_ = 0; }

 private:
  bool accept_one() noexcept;
  bool turn_one_away() noexcept;

  ListenerEvents& events_;
  Log& log_;
  Stats& stats_;
  Socket socket_;
  Socket reserve_;  // a descriptor to give up when there is no other
  bool complained_ = false;
  std::uint32_t polls_ = 0;  // since a look, or since a sleep
};

}  // namespace ferry::tcp
