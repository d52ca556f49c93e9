// OffloadPool: threads for jobs that block. It grows when every thread of it is busy, up to a bound; jobs beyond the
// bound wait, first come first served. Threads stay until the pool ends and cost nothing while they wait.
//
// Owner: the executor. Any thread may post. Destroying it waits for the jobs that run; none may be queued.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include <ferry/base/job.hpp>

namespace ferry::system {

class OffloadPool {
 public:
  explicit OffloadPool(std::size_t bound) : bound_(bound) {}
  ~OffloadPool();
  OffloadPool(const OffloadPool&) = delete;
  OffloadPool& operator=(const OffloadPool&) = delete;

  // False if there is no thread and the system gives none: the job is not queued.
  bool post(Job& job) noexcept;

  std::size_t thread_count() const;

 private:
  void run() noexcept;

  const std::size_t bound_;  // threads, at least 1
  mutable std::mutex mutex_;
  std::condition_variable queued_;
  JobQueue jobs_;
  std::size_t queued_count_ = 0;
  std::size_t idle_ = 0;  // threads that wait for a job
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace ferry::system
