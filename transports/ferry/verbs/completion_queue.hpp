// CompletionChannel: the descriptor that tells of completions while nobody polls (ibv_comp_channel). CompletionQueue:
// where completions of many queue pairs arrive (ibv_cq). Internal.
//
// Shared: queue pairs keep their CompletionQueue, it keeps its channel. poll() and what belongs to sleeping by one
// thread at a time; reserve() and release() by any.
#pragma once

#include <atomic>
#include <memory>
#include <span>

#include <ferry/base/result.hpp>
#include <ferry/verbs/context.hpp>

namespace ferry::verbs {

class CompletionChannel {
 public:
  static Result<std::shared_ptr<CompletionChannel>> create(std::shared_ptr<Context> context);
  CompletionChannel(std::shared_ptr<Context> context, ibv_comp_channel* channel) noexcept;
  ~CompletionChannel();
  CompletionChannel(const CompletionChannel&) = delete;
  CompletionChannel& operator=(const CompletionChannel&) = delete;

  Context& context() const noexcept { return *context_; }
  ibv_comp_channel* get() const noexcept { return channel_; }
  int descriptor() const noexcept { return channel_->fd; }
  // Takes what told of completions, so that the descriptor is quiet.
  void drain() noexcept;

 private:
  const std::shared_ptr<Context> context_;
  ibv_comp_channel* const channel_;
};

class CompletionQueue {
 public:
  // Of as many entries as a device may have, at most kEntries.
  static constexpr int kEntries = 16384;
  static Result<std::shared_ptr<CompletionQueue>> create(std::shared_ptr<CompletionChannel> channel);
  CompletionQueue(std::shared_ptr<CompletionChannel> channel, ibv_cq* queue) noexcept;
  ~CompletionQueue();
  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;

  ibv_cq* get() const noexcept { return queue_; }

  // Room for so many completions at one time; false: there is none. Half of the queue is kept for what destroyed queue
  // pairs left in it.
  bool reserve(std::size_t completions) noexcept;
  void release(std::size_t completions) noexcept;

  // How many there are, the oldest first; negative: the queue is broken.
  int poll(std::span<ibv_wc> completions) noexcept;
  // The next completion makes the channel's descriptor readable. Look once more before sleeping.
  Result<void> arm() noexcept;

 private:
  const std::shared_ptr<CompletionChannel> channel_;
  ibv_cq* const queue_;
  std::atomic<std::size_t> reserved_{0};
};

}  // namespace ferry::verbs
