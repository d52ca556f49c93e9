#include <ferry/system/offload_pool.hpp>

#include <exception>

#include <ferry/base/check.hpp>
#include <ferry/system/thread_setup.hpp>

namespace ferry::system {

OffloadPool::~OffloadPool() {
  {
    const std::lock_guard lock(mutex_);
    FERRY_CHECK(jobs_.empty());
    stopping_ = true;
  }
  queued_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

bool OffloadPool::post(Job& job) noexcept {
  const std::lock_guard lock(mutex_);
  if (queued_count_ >= idle_ && threads_.size() < bound_) {
    try {
      threads_.reserve(threads_.size() + 1);
      threads_.push_back(start_thread("ferry-offload", [this] { run(); }));
    } catch (const std::exception&) {
      if (threads_.empty()) {
        return false;
      }
    }
  }
  jobs_.push(job);
  ++queued_count_;
  queued_.notify_one();
  return true;
}

std::size_t OffloadPool::thread_count() const {
  const std::lock_guard lock(mutex_);
  return threads_.size();
}

void OffloadPool::run() noexcept {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    queued_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    --idle_;
    Job* job = jobs_.pop();
    if (job == nullptr) {
      return;
    }
    --queued_count_;
    lock.unlock();
    job->run();
    lock.lock();
  }
}

}  // namespace ferry::system
