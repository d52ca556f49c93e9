// SourceSet: the EventSources of one executor, and the right to poll them, which one thread has at a time.
//
// add() and remove() come from any thread and also from inside a poll; the poller works on a copy of the list and
// announces each source before it touches it, so that remove() waits for that one source and for nothing else.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include <ferry/system/event_loop.hpp>
#include <ferry/transport/reactor.hpp>

namespace ferry::system {

class SourceSet {
 public:
  explicit SourceSet(EventLoop& loop) noexcept : loop_(loop) {}
  ~SourceSet();
  SourceSet(const SourceSet&) = delete;
  SourceSet& operator=(const SourceSet&) = delete;

  void add(EventSource& source);
  void remove(EventSource& source) noexcept;

  // The right to poll. Sequentially consistent, as who goes to sleep looks who has it.
  enum class Leader : std::uint8_t { nobody, executor, progress };
  bool try_lead(Leader leader) noexcept {
    Leader nobody = leader_.load(std::memory_order_relaxed);
    return nobody == Leader::nobody && leader_.compare_exchange_strong(nobody, leader);
  }
  void stop_leading() noexcept { leader_.store(Leader::nobody); }
  Leader leader() const noexcept { return leader_.load(); }

  // For the one that leads:

  // Polls every source once, after telling those that were prepared for a sleep that it is over. True: something was
  // done, or the list has changed.
  bool poll() noexcept;
  // Prepares every source and arms its descriptor. False: one of them has work.
  bool prepare_to_sleep() noexcept;

  // Any thread: these descriptors have fired and are no longer armed.
  void fired(std::span<const std::uint64_t> ids);

 private:
  struct Entry {
    EventSource& source;
    const int descriptor;
    const std::uint64_t id;
    bool prepared = false;
    bool known = false;  // to the event loop
    bool armed = false;
    bool armed_write = false;
  };

  bool enter(Entry& entry) noexcept;
  void leave() noexcept;
  void refresh();
  void take_fired() noexcept;
  bool arm(Entry& entry, bool write) noexcept;

  EventLoop& loop_;
  std::atomic<Leader> leader_{Leader::nobody};

  std::mutex mutex_;
  std::vector<std::unique_ptr<Entry>> entries_;  // by id
  std::uint64_t next_id_ = 2;                    // 0 and 1 are the loop's
  std::vector<std::uint64_t> fired_;
  std::atomic<bool> any_fired_{false};
  std::atomic<std::uint64_t> version_{0};  // of entries_

  // The poller's.
  std::vector<Entry*> polled_;
  std::uint64_t polled_version_ = 0;
  bool any_prepared_ = false;
  std::atomic<Entry*> visited_{nullptr};  // announced; its owner may not go before it is left
};

}  // namespace ferry::system
