// ShmChannel: one life of a connection: socket, mappings and rings that this process shares with an owner.
//
// Made by ShmConnection::open(), visited by the Poller, ended once, by the polling thread or by close(). Goes through
// connecting -> greeting -> joining -> open (-> lingering: the owner is silent or unwilling and may be dying) -> ended.
// step_inside() is the inner loop; everything it looks at stays mapped while a Reading is inside.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ferry/shm/alarm.hpp>
#include <ferry/shm/control_packet.hpp>
#include <ferry/shm/foreign_memory.hpp>
#include <ferry/shm/liveness.hpp>
#include <ferry/shm/message_ring.hpp>
#include <ferry/shm/packet_socket.hpp>
#include <ferry/shm/pending_operations.hpp>
#include <ferry/shm/segment_map.hpp>
#include <ferry/shm/shm_connection.hpp>

namespace ferry::shm {

class ShmChannel final : public Polled, public Copier, public std::enable_shared_from_this<ShmChannel> {
 public:
  ShmChannel(ShmNode& node, ShmConnection& connection);
  ~ShmChannel() override;

  // Begins to connect. A failure: nothing was begun, and nothing follows.
  Failure begin() noexcept;

  // Copies at most limits::kPieceBytes in place, after checking that it may. Within a Reading of the region.
  Step step_inside(Operation& operation, CopyCursor& cursor) noexcept;
  // The same with a Reading of its own, for the polling thread.
  Step step(Operation& operation, CopyCursor& cursor) noexcept override;

  // As step_inside(), for the whole of a short range or for one atomic, if nothing stands against it. False: nothing
  // was done.
  bool try_transfer(OperationKind kind, const RemoteRegion& region, std::byte* local) noexcept;
  bool try_atomic(const OperationRequest& request, std::uint64_t& old) noexcept;

  // Goes on with an operation that has come to `after`.
  Started start_pending(Operation& operation, Step after, const CopyCursor& cursor) noexcept;
  // What to say about an operation that met no channel: not_open if nothing has happened.
  static Started not_open(Operation& operation, const CopyCursor& cursor) noexcept;

  void cancel(Operation& operation, const Failure& why) noexcept;
  bool abandon(Operation& operation) noexcept;
  bool send(wire::Bytes&& message) noexcept;
  // Ends it; returns when nothing of it runs and no callback will come.
  void close(const Failure& why) noexcept;
  std::string describe() const;

  bool poll() noexcept override;
  bool has_work() noexcept override;
  void on_ready(unsigned tag) noexcept override;

 private:
  static constexpr unsigned kSocketTag = 0;
  static constexpr unsigned kProcessTag = 1;
  static constexpr int kMessagesAtOnce = 64;  // of one poll

  enum class State : unsigned char { connecting, greeting, joining, open, lingering, ended };

  struct Shared {  // with the owner; whole from `open` on
    Shared(ShmNode& node, ShmConnection& connection, const PeerProcess& process, MemoryFile channel_memory,
           PeerBoard owner_board, PeerDoorbell owner_doorbell, std::uint64_t channel_number, std::uint32_t admission);

    MemoryFile memory;
    PeerBoard board;
    PeerDoorbell doorbell;
    const std::uint64_t channel;
    const std::atomic<std::uint64_t>& admitted;
    ChannelLayout& layout;
    SegmentMap segments;
    ForeignMemory foreign;
    MessageReader reader;
    MessageWriter writer;
    PendingOperations pending;
    Liveness liveness;
    std::uint64_t mail_seen = 0;
    std::uint64_t mail_sent = 0;

    bool is_admitted() const noexcept { return admitted.load(std::memory_order_seq_cst) == channel; }
  };

  // Not if it lingers because the process there went away before there was any memory to read.
  bool is_readable() const noexcept {
    return shared_ != nullptr && (state_ == State::open || state_ == State::lingering);
  }

  // Data path. How a referenced range can be touched, or what stands against it: all checks of an access, in their
  // order.
  enum class Reach : unsigned char {
    mapped,    // here, from Found::base on
    foreign,   // in memory that only the kernel can reach
    unmapped,  // once its segment is mapped for that use
    unsupported,
    not_admitted,
    revoked,
    forged,
    denied,
    outside
  };
  struct Found {
    Reach reach;
    std::byte* base = nullptr;
  };
  Found find(OperationKind kind, const RemoteRegion& region) const noexcept;
  Step copy(Operation& operation, CopyCursor& cursor, std::byte* base) noexcept;
  Step read_foreign(Operation& operation, CopyCursor& cursor, std::uint64_t base) noexcept;
  Step refuse(Operation& operation, errc code, const char* why) const noexcept;
  Step look_again() noexcept;

  // Control, in the polling thread.
  void try_to_connect() noexcept;
  void greet() noexcept;
  void receive_packets() noexcept;
  Result<void> take_packet(Packet& packet);
  Result<void> take_greeting(const Packet& packet);
  Result<void> take_welcome(Packet& packet);
  Result<void> take_segment(const ControlPacket& packet, const Packet& raw);
  Result<void> take_open_packet(const Packet& raw);
  void take_close(const Failure& why) noexcept;
  void send_packet(const ControlPacket& packet);
  bool poll_open() noexcept;
  bool poll_pending();
  bool take_messages();
  void take_last_messages();
  void look() noexcept;
  void watch_owner() noexcept;
  void on_alarm() noexcept;
  void linger(const Failure& why) noexcept;
  void break_off(const Failure& why) noexcept;
  void peer_ended() noexcept;
  void finish(const Failure& why, PeerState state) noexcept;
  bool begin_end() noexcept;
  // Gives the messages that never left.
  std::vector<wire::Bytes> close_down() noexcept;
  void give_back(const std::vector<wire::Bytes>& unsent, const Failure& why) noexcept;
  Failure named(const Failure& why) const;

  ShmNode& node_;
  ShmConnection& connection_;
  std::optional<PacketSocket> socket_;
  std::optional<PeerProcess> process_;
  Meeting meeting_{};
  MemoryFile channel_memory_;  // between join and welcome
  State state_ = State::connecting;
  Failure linger_why_{};
  TimePoint connect_by_{};
  bool end_of_socket_ = false;
  std::unique_ptr<Shared> shared_;
  std::atomic<bool> was_open_{false};  // shared_ is there
  std::atomic<bool> open_{false};
  std::atomic<bool> ended_{false};
  std::atomic<bool> look_{false};  // something is odd: ask the kernel and the owner's board
  Alarm alarm_;
};

// Inline: compiled into the inner loop, where all that it says beyond `mapped` costs nothing.
inline ShmChannel::Found ShmChannel::find(OperationKind kind, const RemoteRegion& region) const noexcept {
  const TransportKey* const key = region.key_for(TransportId::shm);
  const Shared& shared = *shared_;
  if (key == nullptr) [[unlikely]] {
    return {Reach::unsupported};
  }
  if (!shared.is_admitted()) [[unlikely]] {
    return {Reach::not_admitted};
  }
  const RegionEntry* const entry = shared.board.entry(region.slot);
  if (entry == nullptr || entry->generation() != region.generation.value()) [[unlikely]] {
    return {Reach::revoked};
  }
  if (!entry->matches(*key, region.size)) [[unlikely]] {
    return {Reach::forged};
  }
  if (!permits(entry->rights() & region.rights, access_needed(kind))) [[unlikely]] {
    return {Reach::denied};
  }
  if (key->key == 0) {
    return {Reach::foreign};
  }
  const SegmentMap::Mapping mapping = shared.segments.find(key->key, kind != OperationKind::read);
  if (mapping.base == nullptr) [[unlikely]] {
    return {Reach::unmapped};
  }
  if (key->address > mapping.size || region.size > mapping.size - key->address) [[unlikely]] {
    return {Reach::outside};
  }
  return {Reach::mapped, mapping.base + key->address + region.offset};
}

}  // namespace ferry::shm
