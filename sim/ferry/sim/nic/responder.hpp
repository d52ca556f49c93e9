// Responder: the receiving half of a queue pair: takes the other end's requests in order, checks them, lets them take
// effect, and answers. Internal to the NIC.
//
// A packet is executed at most once: a write that comes again is acknowledged and dropped, an atomic gets its saved
// result; a read that comes again is read again. Answers go out in the order of the requests. After a refusal nothing
// is taken any more (datagrams: of that request). Owner: the queue pair. One thread.
#pragma once

#include <map>
#include <vector>

#include <ferry/sim/nic/arrival_queue.hpp>
#include <ferry/sim/nic/packet.hpp>

namespace ferry::sim {

class SimQueuePair;

class Responder final : private ArrivalEvents {
 public:
  Responder(SimQueuePair& queue, Nic& nic) noexcept;

  void on_request(Packet& packet) noexcept;

  void post_receive(std::uint64_t id, std::byte* local, std::size_t length) {
    receives_.push_back({id, local, length});
  }
  std::size_t receives() const noexcept { return receives_.size() - next_receive_; }

  // What was accepted and would touch these bytes is in memory, or read from it, when this returns.
  void finish(const std::byte* at, std::uint64_t length) noexcept;

  // A request was refused, and none behind it was accepted.
  bool has_refused() const noexcept { return has_refused_; }

  // The number of the next packet that would be accepted. Not of datagrams.
  std::uint32_t expected() const noexcept {
    const auto stream = flows_.find(0);
    return stream == flows_.end() ? 0 : static_cast<std::uint32_t>(stream->second.expected);
  }

  void unit_is_free() noexcept { inbound_.unit_is_free(); }

  // Nothing is accepted any more; what was is in memory when this returns. Receives end `flushed`.
  void stop() noexcept;
  void kill() noexcept;

 private:
  struct Receive {
    std::uint64_t id;
    std::byte* local;
    std::size_t length;
  };
  struct Answer {
    std::uint64_t sequence;
    PacketHeader::Kind kind;
    bool is_ready;
    std::uint64_t length;
    wire::Bytes bytes;  // none: of ghosts
  };
  struct Flow {
    std::uint64_t expected = 0;   // number of the next packet
    bool has_complained = false;  // that another came
    bool is_refused = false;
    Receive receive{};                             // of the send that is arriving
    std::vector<Answer> answers;                   // to be sent, in the order of the requests
    std::map<std::uint64_t, std::uint64_t> saved;  // old values of atomics, by packet; the newest few
  };

  void on_read(Arrival& arrival) noexcept override;
  void on_atomic(Arrival& arrival) noexcept override;
  void on_barrier(Arrival& arrival) noexcept override;
  void on_entry(Arrival& arrival) noexcept override;
  void on_result(Arrival&) noexcept override {}
  void on_progress() noexcept override {}

  Receive take_receive();
  void accept(Flow& flow, Packet& packet) noexcept;
  void again(Flow& flow, Packet& packet) noexcept;
  bool reach(Flow& flow, const Packet& packet, std::byte*& at) noexcept;
  void place(const Packet& packet, std::byte* at) noexcept;
  void begin(const PacketHeader& header, Arrival::Kind kind, std::byte* at) noexcept;
  void answer(Flow& flow, const PacketHeader& header, PacketHeader::Kind kind, bool is_ready) noexcept;
  // bytes: null for those of ghosts.
  void answer_with(const Arrival& arrival, const std::byte* bytes, std::uint64_t length) noexcept;
  void send_ready(std::uint64_t id, Flow& flow) noexcept;
  void send(std::uint64_t flow, std::uint64_t sequence, PacketHeader::Kind kind, std::uint64_t length,
            wire::Bytes bytes) noexcept;
  void refuse(Flow& flow, const PacketHeader& header) noexcept;

  SimQueuePair& queue_;
  Nic& nic_;
  ArrivalQueue inbound_;
  std::map<std::uint64_t, Flow> flows_;
  std::vector<Receive> receives_;  // from next_receive_ on
  std::size_t next_receive_ = 0;
  bool is_stopped_ = false;
  bool has_refused_ = false;
};

}  // namespace ferry::sim
