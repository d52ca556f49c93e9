#include <ferry/verbs/completion_queue.hpp>

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <ferry/verbs/verbs_failure.hpp>

namespace ferry::verbs {

Result<std::shared_ptr<CompletionChannel>> CompletionChannel::create(std::shared_ptr<Context> context) {
  ibv_comp_channel* const channel = context->calls().create_comp_channel(context->get());
  if (channel == nullptr) {
    return verbs_failure(errno, "ibv_create_comp_channel", context->name(), errc::resource_exhausted);
  }
  auto made = std::make_shared<CompletionChannel>(std::move(context), channel);
  const int flags = ::fcntl(channel->fd, F_GETFL);
  if (flags < 0 || ::fcntl(channel->fd, F_SETFL, flags | O_NONBLOCK) != 0) {
    return verbs_failure(errno, "fcntl of a completion channel", made->context().name(), errc::resource_exhausted);
  }
  return made;
}

CompletionChannel::CompletionChannel(std::shared_ptr<Context> context, ibv_comp_channel* channel) noexcept
    : context_(std::move(context)), channel_(channel) {}

CompletionChannel::~CompletionChannel() {
  context_->calls().destroy_comp_channel(channel_);
}

void CompletionChannel::drain() noexcept {
  ibv_cq* queue = nullptr;
  void* user = nullptr;
  while (context_->calls().get_cq_event(channel_, &queue, &user) == 0) {
    context_->calls().ack_cq_events(queue, 1);
  }
}

Result<std::shared_ptr<CompletionQueue>> CompletionQueue::create(std::shared_ptr<CompletionChannel> channel) {
  const Context& context = channel->context();
  const int entries = std::min(context.attributes().max_cqe, kEntries);
  ibv_cq* const queue = context.calls().create_cq(context.get(), entries, nullptr, channel->get(), 0);
  if (queue == nullptr) {
    return verbs_failure(errno, "ibv_create_cq", context.name(), errc::resource_exhausted);
  }
  return std::make_shared<CompletionQueue>(std::move(channel), queue);
}

CompletionQueue::CompletionQueue(std::shared_ptr<CompletionChannel> channel, ibv_cq* queue) noexcept
    : channel_(std::move(channel)), queue_(queue) {}

CompletionQueue::~CompletionQueue() {
  channel_->context().calls().destroy_cq(queue_);
}

bool CompletionQueue::reserve(std::size_t completions) noexcept {
  const std::size_t limit = static_cast<std::size_t>(queue_->cqe) / 2;
  std::size_t reserved = reserved_.load(std::memory_order_relaxed);
  do {
    if (completions > limit - std::min(limit, reserved)) {
      return false;
    }
  } while (!reserved_.compare_exchange_weak(reserved, reserved + completions, std::memory_order_relaxed));
  return true;
}

void CompletionQueue::release(std::size_t completions) noexcept {
  reserved_.fetch_sub(completions, std::memory_order_relaxed);
}

int CompletionQueue::poll(std::span<ibv_wc> completions) noexcept {
  return channel_->context().calls().poll_cq(queue_, static_cast<int>(completions.size()), completions.data());
}

Result<void> CompletionQueue::arm() noexcept {
  const Context& context = channel_->context();
  if (const int error = context.calls().req_notify_cq(queue_, 0); error != 0) {
    return verbs_failure(error, "ibv_req_notify_cq", context.name(), errc::resource_exhausted);
  }
  return {};
}

}  // namespace ferry::verbs
