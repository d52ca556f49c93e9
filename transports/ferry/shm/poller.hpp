// Poller: the transport's one EventSource: visits every channel, inbound and listener, and sleeps for all of them.
//
// What a visit looks at is shared memory, so polling costs no system call; the kernel is asked about descriptors after
// a sleep and at every kKernelEvery-th poll. add() and remove() come from any thread and from inside a visit. Also
// keeps what was taken out of use until no thread of this process can be using it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <ferry/base/result.hpp>
#include <ferry/shm/board.hpp>
#include <ferry/shm/doorbell.hpp>
#include <ferry/shm/file_descriptor.hpp>
#include <ferry/shm/reader_slots.hpp>
#include <ferry/transport/reactor.hpp>

namespace ferry::shm {

// Something that the Poller visits, one thread at a time.
class Polled {
 public:
  virtual ~Polled() = default;
  // Looks at memory only. True if something was done.
  virtual bool poll() noexcept = 0;
  // Before a sleep; sequentially consistent loads.
  virtual bool has_work() noexcept = 0;
  // A descriptor that was watched under this tag has become ready.
  virtual void on_ready(unsigned tag) noexcept = 0;
};

class Poller final : public EventSource {
 public:
  static constexpr unsigned kKernelEvery = 32;
  // A poll looks so many times until it finds something: the executor's own work between two polls takes as long as
  // several looks, and an answer is noticed so much sooner.
  static constexpr int kLooks = 4;
  static constexpr unsigned kTags = 8;

  // Not yet known to the reactor, which outlives it.
  static Result<std::unique_ptr<Poller>> create(std::shared_ptr<OwnBoard> board, OwnDoorbell doorbell,
                                                Reactor& reactor);
  ~Poller();

  int doorbell() const noexcept { return doorbell_.descriptor(); }

  void add(const std::shared_ptr<Polled>& polled);
  // Returns when it is not being visited and never will be again; from inside its own visit at once.
  void remove(const Polled& polled) noexcept;

  // Edge-triggered: on_ready(tag) comes once for each change, and for what is ready now. The descriptor stays open
  // until unwatch(). resource_exhausted.
  Result<void> watch(int descriptor, const Polled& polled, unsigned tag);
  void unwatch(int descriptor) noexcept;

  // Destroys `object` once the accesses of `grace` have ended.
  void retire(ReaderSlots::Grace grace, std::shared_ptr<const void> object);
  // Blocks until all that was retired is out of use.
  void wait_for_retired() noexcept;

  // Makes a sleeping poller look again.
  void wake() noexcept { reactor_.wake(); }
  // Lets go of what was removed; once nobody polls any more.
  void clear() noexcept { polled_.clear(); }

  bool poll() noexcept override;
  int descriptor() const noexcept override { return epoll_.get(); }
  bool prepare_to_sleep(bool& write) noexcept override;
  void woken() noexcept override;

 private:
  struct Entry {
    std::uint64_t id;
    std::shared_ptr<Polled> polled;
    std::atomic<bool> removed{false};
  };
  struct Retired {
    ReaderSlots::Grace grace;
    std::shared_ptr<const void> object;
  };
  using Entries = std::vector<std::shared_ptr<Entry>>;  // by id

  Poller(std::shared_ptr<OwnBoard> board, OwnDoorbell doorbell, FileDescriptor epoll, Reactor& reactor) noexcept;

  void refresh();
  template <class Visit>
  void visit(Entry& entry, Visit step) noexcept;
  bool ask_kernel() noexcept;
  bool destroy_retired() noexcept;
  void set_state(std::uint64_t state) noexcept;

  const std::shared_ptr<OwnBoard> board_;
  const OwnDoorbell doorbell_;
  const FileDescriptor epoll_;
  Reactor& reactor_;

  std::mutex mutex_;
  Entries entries_;
  std::uint64_t next_id_ = 1;  // 0 is the doorbell's
  std::atomic<std::uint64_t> version_{0};
  std::vector<Retired> retired_;
  std::atomic<std::size_t> retired_count_{0};

  // The polling thread's.
  Entries polled_;
  std::uint64_t polled_version_ = 0;
  unsigned polls_ = 0;
  std::atomic<Entry*> visited_{nullptr};
};

}  // namespace ferry::shm
