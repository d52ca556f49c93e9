// Requester: the sending half of a queue pair: what was posted, what was sent and is not acknowledged, what came back.
// Internal to the NIC.
//
// Packets are sent in order and sent again from the first that is not acknowledged. Requests end in order (datagrams:
// in any). Owner: the queue pair. One thread.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <boost/intrusive/list.hpp>

#include <ferry/queue/queue_pair.hpp>
#include <ferry/sim/nic/arrival_queue.hpp>
#include <ferry/sim/nic/packet.hpp>

namespace ferry::sim {

class SimQueuePair;

class Requester final : private ArrivalEvents {
 public:
  Requester(SimQueuePair& queue, Nic& nic) noexcept;
  ~Requester();
  Requester(const Requester&) = delete;
  Requester& operator=(const Requester&) = delete;

  // And not completed.
  std::size_t posted() const noexcept { return works_.size() - told_; }

  void post(const queue::WorkRequest& request);
  void begin() noexcept { kick(); }  // the queue pair is connected
  void on_answer(Packet& packet) noexcept;

  // Everything that was posted ends: the first with this status, unless it is `flushed`.
  void fail(queue::WorkStatus first) noexcept;
  // A request that is posted from now on ends `flushed`.
  void complete_flushed(const queue::WorkRequest& request) noexcept;

  // After fail(): what of a request the other end has accepted, which expects that packet next.
  queue::Acceptance acceptance(std::uint64_t id, std::uint32_t expected) const noexcept;

  // The process was killed, or the queue pair destroyed: nothing is touched or told any more.
  void kill() noexcept;

 private:
  // What is numbered and acknowledged together: all packets of the queue pair; datagrams: of one request.
  struct Flow {
    std::uint64_t id = 0;
    std::uint64_t end = 0;     // number of the next packet that is posted
    std::uint64_t sent = 0;    // of the next to be sent
    std::uint64_t acked = 0;   // of the first that is not acknowledged
    TimePoint paused_until{};  // there was no receive
    unsigned pauses = 0;       // in a row
  };
  struct Work : boost::intrusive::list_base_hook<> {
    queue::WorkRequest request{};
    std::uint64_t number = 0;  // as `message` of its packets
    Flow* flow = nullptr;
    Flow own{};               // of a datagram
    std::uint64_t first = 0;  // packet
    std::uint64_t packets = 0;
    std::uint64_t results = 0;  // chunks that have not begun their way to memory yet
    bool is_told = false;
    wire::Bytes early;  // its bytes, read before its turn; empty: not
    wire::Bytes copy;   // what was sent, where the user may have his bytes back before they were accepted
  };
  struct Failed {
    std::uint64_t id;
    std::uint64_t first;
    std::uint64_t packets;
  };
  struct Own : Step {
    Own(Function function, Requester* owner) noexcept : Step(function), requester(owner) {}
    Requester* requester;
  };
  using Works = boost::intrusive::list<Work>;
  static constexpr std::size_t kSpares = 8;

  void on_read(Arrival&) noexcept override {}
  void on_atomic(Arrival&) noexcept override {}
  void on_barrier(Arrival&) noexcept override {}
  void on_entry(Arrival& arrival) noexcept override;
  void on_result(Arrival& arrival) noexcept override;
  void on_progress() noexcept override;

  static void transmit_step(Step& step) noexcept;
  static void retry_step(Step& step) noexcept;
  void kick() noexcept;
  Work* next_to_send() noexcept;
  void read_early(Work& work) noexcept;
  bool may_send(const Work& work) const noexcept;
  bool send_next(Work& work) noexcept;
  void watch() noexcept;
  void time_out() noexcept;
  Work* work_of(const PacketHeader& header) noexcept;
  bool acknowledge(Work& work, std::uint64_t upto) noexcept;
  void advance(Flow& flow, std::uint64_t acked) noexcept;
  void go_back(Flow& flow, std::uint64_t sequence) noexcept;
  void take_response(Work& work, Packet& packet) noexcept;
  void pause(Flow& flow) noexcept;
  void refuse(Work& work) noexcept;
  bool is_finished(const Work& work) const noexcept;
  bool is_complete(const Work& work) const noexcept;
  void retire() noexcept;
  void remove(Work& work) noexcept;
  void end(Work& work, queue::WorkStatus status) noexcept;
  void tell_once(Work& work, queue::WorkStatus status) noexcept;
  void tell(const queue::WorkRequest& request, std::uint64_t flow, queue::WorkStatus status) noexcept;
  Work& take_work();
  void give_back(Work& work) noexcept;

  SimQueuePair& queue_;
  Nic& nic_;
  ArrivalQueue results_;
  Flow stream_;
  Works works_;                 // in the order of posting
  std::vector<Failed> failed_;  // requests that had not completed when it failed
  std::size_t told_ = 0;        // of them: completed, and not acknowledged yet
  std::uint64_t last_number_ = 0;
  bool waits_for_memory_ = false;
  bool is_retiring_ = false;
  TimePoint last_progress_{};
  unsigned retries_ = 0;
  Own transmit_;
  Own retry_;
  Works spare_;  // at most kSpares, and none while nothing is posted: an idle queue pair is small
};

}  // namespace ferry::sim
