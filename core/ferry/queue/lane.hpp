// Lane: one queue pair of an initiator, on its way to one owner: what was posted and in which order, what the owner has
// confirmed of it, and what may be posted now. It posts nothing itself.
//
// A lane has many lives: each failure ends its queue pair, and the next one takes up what did not execute. Requests are
// numbered over all lives, so that a number names one request for ever. Guarded by the connection's lock.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include <ferry/base/failure.hpp>
#include <ferry/base/result.hpp>
#include <ferry/queue/device.hpp>
#include <ferry/queue/pending.hpp>
#include <ferry/queue/staging.hpp>

namespace ferry::queue {

// A request that was posted and has not ended, or not been confirmed.
struct PostedRequest {
  enum class Kind : std::uint8_t { put, get, atomic, command, mark };

  Kind kind{};
  bool is_done = false;       // completed with success
  bool is_confirmed = false;  // srd: the owner saw its immediate
  bool is_transmitted = false;
  bool is_large = false;  // counts for the window
  std::uint16_t slot = Staging::kNone;
  std::uint64_t owner = 0;  // id of the operation; 0: of none
  Range range{};
};

// Why a life of a lane ended, and what is known of the requests that had not ended.
struct LaneFailure {
  static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};

  Failure why{};                             // for those whose outcome nobody knows
  bool has_evidence = false;                 // the owner has told how far it had accepted requests
  bool has_refused = false;                  // the owner's device refused one
  std::uint64_t refused = 0;                 // that one; 0: not known
  std::uint64_t executed_below = 0;          // requests below this number were executed
  std::uint64_t unexecuted_from = kUnknown;  // this one and all behind it were not
};

class Lane {
 public:
  // broken: its queue pair has stopped; the owner has not yet said that it discarded its own.
  enum class State : std::uint8_t { none, opening, ready, broken };

  State state = State::none;
  std::uint32_t id = 0;              // of this life, on the wire
  std::unique_ptr<Staging> staging;  // outlives the queue pair
  std::unique_ptr<QueuePair> queue;
  // The next life, asked for while the owner discards this one.
  std::uint32_t next_id = 0;
  std::unique_ptr<Staging> next_staging;
  std::unique_ptr<QueuePair> next_queue;
  LaneFailure failure{};
  RemoteAddress word{};      // of the owner's, always readable
  bool is_cautious = false;  // one request at a time, so that a refusal says which it was
  PendingList waiting;       // in the order of posting
  PendingList posted;        // in the order of their last request

  // A new life with room for so many requests, and receives at the owner. Everything before is forgotten but numbers.
  // owner_answers_marks: they take receives there.
  void begin(OrderClass order, std::size_t requests, std::size_t receives, bool owner_answers_marks);

  std::size_t room() const noexcept { return requests_ - out_; }               // requests that may be posted
  std::size_t credits() const noexcept { return receives_ - receives_out(); }  // of these, what takes a receive
  bool has_window() const noexcept { return large_out_ < limits::kWindowPieces; }
  bool takes_receive(PostedRequest::Kind kind) const noexcept;

  // Posted, and not ended or not confirmed.
  std::size_t backlog() const noexcept { return ring_.size(); }
  bool has_posted() const noexcept { return out_ > 0; }

  // The number of the next request that add() takes in.
  std::uint64_t next_number() const noexcept { return first_ + ring_.size(); }
  std::uint64_t add(const PostedRequest& request);
  // Null if it is none of this life, or has ended.
  PostedRequest* find(std::uint64_t number) noexcept;
  // The number of this life whose lower half this is.
  std::uint64_t whole_number(std::uint32_t low) const noexcept {
    return first_ + static_cast<std::uint32_t>(low - static_cast<std::uint32_t>(first_));
  }
  // It has completed: the record stays until nothing before it is under way.
  void done(std::uint64_t number) noexcept;
  void confirmed(std::uint64_t number) noexcept;
  // Calls each(number, request) for what was posted and has not ended, in order; puts of iwarp and srd that the owner
  // has not confirmed are among them.
  template <class Each>
  void for_each(Each&& each) {
    for (std::size_t index = 0; index < ring_.size(); ++index) {
      each(first_ + index, ring_[index]);
    }
  }

  // Everything before this number is known to be in the owner's memory, if it completed.
  std::uint64_t covered() const noexcept { return covered_; }
  bool is_covered(std::uint64_t number) const noexcept { return number < covered_; }
  void cover(std::uint64_t before) noexcept {
    covered_ = std::max(covered_, before);
    drop_ended();
  }
  // What has this number, and everything before it, shall be covered by a mark.
  void want_covered(std::uint64_t number) noexcept { wanted_ = std::max(wanted_, number + 1); }
  // A mark is to be posted: somebody wants one, none on its way covers it, and not too many are.
  bool wants_mark() const noexcept;
  // The number of the mark which is about to be posted as the next request.
  std::uint32_t add_mark() noexcept;
  // The owner has seen it, or (strict) it has completed. malformed: it was not the oldest one on its way.
  Result<void> mark_answered(std::uint32_t mark);
  // The owner says how many receives it has used and posted again in this life.
  Result<void> received(std::uint64_t count);

  // srd: the message that would have used one was refused.
  void receive_unused() noexcept { --receives_used_; }

  // For flushes: the latest transmitted write's request, 0 if there was none.
  std::uint64_t last_transmitted() const noexcept { return last_transmitted_; }
  bool has_unconfirmed_transmitted(std::uint64_t up_to) const noexcept;

 private:
  struct Mark {
    std::uint32_t mark = 0;
    std::uint64_t number = 0;
  };

  std::size_t receives_out() const noexcept { return static_cast<std::size_t>(receives_used_ - receives_returned_); }
  void drop_ended() noexcept;

  OrderClass order_{};
  bool owner_answers_marks_ = false;
  std::deque<PostedRequest> ring_;  // numbers from first_ on
  std::uint64_t first_ = 1;
  std::size_t requests_ = 0;
  std::size_t out_ = 0;  // posted, not completed
  std::size_t large_out_ = 0;
  std::size_t receives_ = 0;
  std::uint64_t receives_used_ = 0;
  std::uint64_t receives_returned_ = 0;
  std::uint64_t covered_ = 0;
  std::uint64_t wanted_ = 0;
  std::uint64_t last_transmitted_ = 0;
  std::uint32_t next_mark_ = 1;
  std::deque<Mark> marks_;
};

}  // namespace ferry::queue
