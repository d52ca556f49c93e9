// ArrivalQueue: what has arrived at one end of a queue pair and has not taken effect yet, and the order in which it
// does: the litmus machine's list and write-back buffer, with bytes for locations. Internal to the NIC.
//
// An arrival acts when the profile lets it go before what came earlier and is not done: a read samples memory, an
// atomic takes the owner's unit, data and completions enter the write-back list. From there they reach memory. Each of
// both may take its time, by choice. Owner: the queue pair. One thread.
#pragma once

#include <boost/intrusive/list.hpp>

#include <ferry/sim/litmus/profile.hpp>
#include <ferry/sim/nic/arrival.hpp>

namespace ferry::sim {

class Nic;

class ArrivalEvents {
 public:
  // The bytes are in it. Then it is given back.
  virtual void on_read(Arrival& arrival) noexcept = 0;
  // The old value is the first word of its bytes. Then it is given back.
  virtual void on_atomic(Arrival& arrival) noexcept = 0;
  // Everything before it is in memory. Then it is given back.
  virtual void on_barrier(Arrival& arrival) noexcept = 0;
  // Everything before it on its way is in memory; it goes into the completion queue. Then it is given back.
  virtual void on_entry(Arrival& arrival) noexcept = 0;
  // A result has begun its way to memory: that chunk of its request is finished. The arrival is not given back.
  virtual void on_result(Arrival& arrival) noexcept = 0;
  // Something has taken effect: what waited for memory may go on.
  virtual void on_progress() noexcept = 0;

 protected:
  ~ArrivalEvents() = default;
};

class ArrivalQueue {
 public:
  ArrivalQueue(Nic& nic, ArrivalEvents& events, std::uint64_t queue) noexcept;
  ~ArrivalQueue();
  ArrivalQueue(const ArrivalQueue&) = delete;
  ArrivalQueue& operator=(const ArrivalQueue&) = delete;

  // In the order in which they were accepted.
  void arrive(Arrival& arrival) noexcept;

  // Lets everything take effect now, in order. One that cannot (an atomic, while another queue pair holds the unit)
  // makes that queue pair finish its own first.
  void drain() noexcept;
  // Drops everything without an effect.
  void clear() noexcept;

  // Whether anything here will still touch one of these bytes.
  bool touches(const std::byte* at, std::uint64_t length) const noexcept;
  // Whether data on its way to memory holds back the reading of these bytes for a put; makes it hurry if it does.
  bool holds_back_put(const std::byte* at, std::uint64_t length) noexcept;

  // It holds the owner's atomic unit: the atomic ends now. Another queue pair has released the unit.
  void finish_unit() noexcept;
  void unit_is_free() noexcept;

 private:
  friend struct Arrival;
  using List = boost::intrusive::list<Arrival>;

  static void step(Step& step) noexcept;
  void consider(Arrival& arrival) noexcept;
  void act(Arrival& arrival) noexcept;
  void sample(Arrival& arrival) noexcept;
  void read_word(Arrival& arrival) noexcept;
  void write_word(Arrival& arrival) noexcept;
  void begin_way(Arrival& arrival) noexcept;
  void commit(Arrival& arrival) noexcept;
  void give_back(Arrival& arrival) noexcept;
  bool may_go_on(const Arrival& arrival) const noexcept;
  bool may_act(const Arrival& arrival) const noexcept;
  bool may_commit(const Arrival& arrival) const noexcept;
  bool is_free_of_writes(const Arrival& arrival, litmus::Extent extent) const noexcept;
  void wait(Arrival& arrival) noexcept;
  void hurry() noexcept;
  void reconsider() noexcept;
  void wake(List& list) noexcept;

  Nic& nic_;
  ArrivalEvents& events_;
  const litmus::Profile& profile_;
  const std::uint64_t queue_;
  List arrived_;             // in the order of acceptance
  List writes_;              // on their way to memory, in the order of beginning it
  std::size_t waiting_ = 0;  // of both
  std::size_t held_ = 0;     // same
  bool is_draining_ = false;
  bool is_looking_ = false;
  bool changed_ = false;  // since it was last looked at what waits
};

}  // namespace ferry::sim
