// Job: a unit of work that an Executor or Strand can run; intrusive, so posting never allocates.
//
// The poster owns the Job and keeps it alive until it has run. A Job is queued at most once at a time; it may be
// posted again from inside its own function. JobQueue is a plain FIFO of them, for one thread at a time.
#pragma once

#include <utility>

namespace ferry {

class Job {
 public:
  using Function = void (*)(Job&) noexcept;

  // drop: called in place of the function when the job's process was killed (simulator) and the job will never run;
  // for jobs that own themselves. Null: there is nothing to do.
  explicit constexpr Job(Function function, Function drop = nullptr) noexcept : function_(function), drop_(drop) {}
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  void run() noexcept { function_(*this); }
  void discard() noexcept {
    if (drop_ != nullptr) {
      drop_(*this);
    }
  }

 private:
  friend class JobQueue;
  friend class Strand;

  Function function_;
  Function drop_;
  Job* next_ = nullptr;
};

class JobQueue {
 public:
  JobQueue() noexcept = default;
  JobQueue(const JobQueue&) = delete;
  JobQueue& operator=(const JobQueue&) = delete;

  bool empty() const noexcept { return head_ == nullptr; }

  void push(Job& job) noexcept {
    job.next_ = nullptr;
    if (head_ == nullptr) {
      head_ = &job;
    } else {
      tail_->next_ = &job;
    }
    tail_ = &job;
  }

  Job* pop() noexcept {
    Job* job = head_;
    if (job != nullptr) {
      head_ = std::exchange(job->next_, nullptr);
    }
    return job;
  }

  // Moves every job of `other` behind this queue's own. O(1).
  void append(JobQueue& other) noexcept {
    if (other.empty()) {
      return;
    }
    if (empty()) {
      head_ = other.head_;
    } else {
      tail_->next_ = other.head_;
    }
    tail_ = other.tail_;
    other.head_ = nullptr;
  }

  // True if the job was queued here and no longer is. O(n); for the rare withdrawal of a job.
  bool remove(Job& job) noexcept {
    Job* before = nullptr;
    for (Job* at = head_; at != nullptr; before = at, at = at->next_) {
      if (at == &job) {
        (before == nullptr ? head_ : before->next_) = at->next_;
        if (tail_ == at) {
          tail_ = before;
        }
        at->next_ = nullptr;
        return true;
      }
    }
    return false;
  }

 private:
  Job* head_ = nullptr;
  Job* tail_ = nullptr;
};

}  // namespace ferry
