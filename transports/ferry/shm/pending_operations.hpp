// PendingOperations: the operations of a channel that could not end inside start(): those that wait for a segment to be
// mapped, are then copied piece by piece by the polling thread, or are executed by the owner as commands.
//
// Any thread. Local memory is touched under the lock alone, so an operation that was taken out is quiet. Completions
// are delivered by deliver(), outside of the lock; nothing else calls anybody.
#pragma once

#include <array>
#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <ferry/shm/alarm.hpp>
#include <ferry/shm/command_queue.hpp>
#include <ferry/shm/shm_node.hpp>
#include <ferry/transport/connection.hpp>
#include <ferry/transport/operation.hpp>

namespace ferry::shm {

// Where an operation has got to: the next byte to move.
struct CopyCursor {
  std::size_t chunk = 0;
  std::uint64_t done = 0;  // bytes of that chunk

  bool has_moved() const noexcept { return chunk > 0 || done > 0; }
};

// What one step of at most limits::kPieceBytes in place has come to.
enum class Step : unsigned char {
  more,      // there is more to copy
  finished,  // all of it, with success or with Operation::failure
  notify,    // the bytes are there; the owner is still to be told
  unmapped,  // the segment is not mapped
  commands,  // only the owner can do it
  closed,    // there is no channel any more; Operation::failure is not set
};

// Copies in place; the channel.
class Copier {
 public:
  virtual Step step(Operation& operation, CopyCursor& cursor) noexcept = 0;

 protected:
  ~Copier() = default;
};

class PendingOperations {
 public:
  PendingOperations(ShmNode& node, Connection& connection, ChannelLayout& layout);

  // Takes an operation that has come to `after` (notify, unmapped or commands). False: the channel has ended.
  bool add(Operation& operation, Step after, const CopyCursor& cursor);

  // See Connection. Both wait between end() and handed_back().
  void cancel(Operation& operation, const Failure& why);
  bool abandon(Operation& operation);

  // --- For the polling thread.
  bool has_work();
  // False: there is nothing to poll(), take or deliver. No lock; may be a pass late, which has_work() is not.
  bool is_busy() const noexcept { return busy_.load(std::memory_order_relaxed); }
  // Collects answers, submits what waits, copies one piece. True if something was done. malformed: the peer is broken;
  // timed_out: a cancelled command was not silenced in time. The channel has to end.
  Result<bool> poll(Copier& copier);

  struct Wanted {
    std::uint32_t segment = 0;
    bool writable = false;
    friend bool operator==(const Wanted&, const Wanted&) = default;
  };
  // Segments that operations wait for and that were not asked for yet.
  std::vector<Wanted> take_wanted();
  void segment_mapped(const Wanted& segment) { segment_answered(segment, {}); }
  // What waits for it looks at the board once more, which may know better (a revocation), and ends with `why` then.
  void segment_refused(const Wanted& segment, const Failure& why) { segment_answered(segment, why); }

  // True if commands were submitted since the last call: the owner may have to be woken.
  bool take_submitted() noexcept { return submitted_.exchange(false, std::memory_order_acq_rel); }

  // The channel has ended. Completes what may have taken effect, with `lost`; the rest is handed back for another try,
  // or, with give_up, completed with `lost` too.
  std::vector<Operation*> end(const Failure& lost, bool give_up);
  // Those are now where a cancel finds them.
  void handed_back();

  // Completes what has ended.
  void deliver();

 private:
  enum class Stage : unsigned char { segment, copying, commands };
  struct Pending {
    Operation* operation;
    Stage stage;
    CopyCursor cursor{};
    Wanted wanted{};
    Failure refusal{};         // why the owner does not pass the segment
    unsigned outstanding = 0;  // commands under way
    bool notify_left = false;
    bool asked_all = false;    // no more pieces to ask for
    bool is_ready = false;     // in ready_
    bool took_effect = false;  // a part has, or may have
    bool cancelled = false;
    bool abandoned = false;  // abandon() waits for its commands and takes it out
    TimePoint quiet_by = kNever;
    Failure failure{};
  };
  using List = std::list<Pending>;
  struct Ticket {
    Pending* pending = nullptr;  // null: nobody cares any more
    int block = -1;
    std::byte* local = nullptr;  // a read: where its bytes go
    std::uint64_t length = 0;
    bool has_effect = false;
  };
  struct Ended {
    Operation* operation;
    Failure failure;
  };

  // All under the lock.
  void await_hand_back(std::unique_lock<std::mutex>& lock);
  List::iterator find(const Operation& operation);
  void submit_waiting();
  bool submit_next(Pending& pending);
  void submit(Pending& pending, CommandRequest request, Ticket ticket);
  bool has_more(const Pending& pending) const noexcept;
  void make_ready(Pending& pending);
  Result<bool> collect();
  void collected(unsigned index, const CommandAnswer& answer);
  void free_ticket(unsigned index) noexcept;
  void take_back(Pending& pending);
  void leave_stage(Pending& pending);
  void settle(Pending& pending);
  void finish(Pending& pending);
  void segment_answered(const Wanted& segment, const Failure& refusal);
  bool copy_piece(Copier& copier);
  Result<void> check_grace();
  bool is_idle() const noexcept;

  ShmNode& node_;
  Connection& connection_;
  std::mutex mutex_;
  CommandQueue queue_;
  std::array<Ticket, kCommands> tickets_{};
  List pending_;
  std::deque<Pending*> ready_;    // have a command to submit
  std::deque<Pending*> copying_;  // are copied in place by the polling thread
  std::deque<Ended> finished_;
  std::vector<Wanted> wanted_;  // asked for, no answer yet
  bool ended_ = false;
  bool handed_back_ = false;
  std::thread::id ender_{};
  std::condition_variable handed_back_changed_;
  bool any_wanted_ = false;
  bool not_silenced_ = false;
  std::atomic<bool> submitted_{false};
  std::atomic<bool> busy_{false};  // stored under the lock
  Alarm grace_;
  bool grace_set_ = false;
};

}  // namespace ferry::shm
