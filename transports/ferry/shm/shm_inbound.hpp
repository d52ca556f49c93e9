// ShmInbound: the owner's end of a channel: lets an authenticated peer read this process's board and memory, takes its
// messages, executes its commands, passes it segments.
//
// Owner: the listener and whoever may still answer, shared. Lives through greeting -> joining -> open -> closing, and
// stays in `closing` until the peer has closed its socket or died: only then none of its threads can be inside this
// process's memory. send() from any thread, everything else from the polling thread, or by shut_down once
// the poller has let go of it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <ferry/shm/alarm.hpp>
#include <ferry/shm/command_server.hpp>
#include <ferry/shm/control_packet.hpp>
#include <ferry/shm/message_ring.hpp>
#include <ferry/shm/packet_socket.hpp>
#include <ferry/shm/shm_listener.hpp>
#include <ferry/shm/shm_node.hpp>
#include <ferry/transport/inbound.hpp>

namespace ferry::shm {

class ShmInbound final : public Inbound, public Polled, public std::enable_shared_from_this<ShmInbound> {
 public:
  ShmInbound(ShmNode& node, ShmListener& listener, PacketSocket socket, PeerProcess process);
  ~ShmInbound() override;

  // Called once, by the listener.
  void start() noexcept;

  ProcessId peer() const noexcept override { return meeting_.initiator; }
  bool send(wire::Bytes&& message) noexcept override;

  // Asks the polling thread to end it as fenced; the listener has withdrawn its admission. Any thread.
  void ask_to_end() noexcept { fenced_.store(true, std::memory_order_release); }
  // The polling thread tells the peer to unmap the segment, if it was passed one. Any thread.
  void retire_segment(std::uint32_t segment) noexcept;
  // Ends the channel and tells the peer why. Idempotent.
  void end(const Failure& why) noexcept;
  // Closes the socket, whether or not the peer can still read. For shut_down, after end().
  void let_go() noexcept;

  bool poll() noexcept override;
  bool has_work() noexcept override;
  void on_ready(unsigned tag) noexcept override;

 private:
  static constexpr unsigned kSocketTag = 0;
  static constexpr unsigned kProcessTag = 1;
  static constexpr int kMessagesAtOnce = 64;  // of one poll

  enum class State : unsigned char { greeting, joining, open, closing, gone };

  struct Shared {  // with the peer, from `open` on
    Shared(MemoryFile channel_memory, PeerDoorbell peer_doorbell, RegionTable& regions,
           std::size_t frame_limit) noexcept;

    MemoryFile memory;
    PeerDoorbell doorbell;
    ChannelLayout& layout;
    MessageReader reader;
    MessageWriter writer;
    CommandServer commands;
    std::uint64_t mail_seen = 0;
    std::uint64_t mail_sent = 0;
  };

  void receive_packets() noexcept;
  Result<void> take_packet(Packet& packet);
  Result<void> take_greeting(const Packet& packet);
  Result<void> take_join(Packet& packet);
  Result<void> take_map(const ControlPacket& request);
  void send_packet(const ControlPacket& packet, std::vector<FileDescriptor> descriptors = {});
  bool take_messages();
  bool serve_commands();
  void send_retired();
  // The peer broke the rules: one log line, and the end.
  void break_off(const Failure& why) noexcept;
  // The peer cannot read any more.
  void peer_has_left(const Failure& why) noexcept;
  std::string who() const;

  ShmNode& node_;
  ShmListener& listener_;
  PacketSocket socket_;
  std::shared_ptr<ReaderWatch> watch_;
  const pid_t pid_;
  std::optional<PeerProcess> process_;  // until it is in watch_
  Meeting meeting_{};
  State state_ = State::greeting;
  std::unique_ptr<Shared> shared_;
  std::atomic<bool> open_{false};
  std::atomic<bool> fenced_{false};
  std::set<std::uint32_t> passed_;  // segments
  std::mutex retired_mutex_;
  std::vector<std::uint32_t> retired_;  // segments
  std::atomic<bool> any_retired_{false};
  Alarm alarm_;  // the limit of the handshake; once open, the next beat
};

}  // namespace ferry::shm
