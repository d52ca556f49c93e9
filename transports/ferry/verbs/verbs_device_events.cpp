// How a device's completions and events find those whom they concern.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include <ferry/verbs/verbs_device.hpp>
#include <ferry/verbs/verbs_failure.hpp>

namespace ferry::verbs {
namespace {

constexpr std::size_t kCompletionsPerPoll = 32;
constexpr std::uint32_t kPollsPerLook = 64;  // for asynchronous events: a system call each

}  // namespace

// Without any lock: the event may destroy the queue pair.
template <class F>
void VerbsDevice::tell(const Teller& teller, F&& event) noexcept {
  VerbsQueuePair* queue = nullptr;
  {
    const std::lock_guard lock(teller->mutex);
    queue = teller->queue;
    if (queue == nullptr) {
      return;
    }
    teller->teller = std::this_thread::get_id();
  }
  event(*queue);
  const std::lock_guard lock(teller->mutex);
  teller->teller = {};
  teller->idle.notify_all();
}

bool VerbsDevice::dispatch(CompletionQueue& queue) noexcept {
  std::array<ibv_wc, kCompletionsPerPoll> completions;
  const int count = queue.poll(completions);
  if (count < 0) {
    lose_all(Failure(errc::resource_exhausted, fmt::format("ibv_poll_cq on {} failed: completions are lost", name())));
    return true;
  }
  for (int at = 0; at < count; ++at) {
    tell(completions[static_cast<std::size_t>(at)]);
  }
  return count > 0;
}

void VerbsDevice::tell(const ibv_wc& completion) noexcept {
  if (const Teller teller = find(static_cast<std::uint32_t>(completion.wr_id >> 32))) {
    tell(teller, [&](VerbsQueuePair& told) { told.complete(completion); });
  }
}

bool VerbsDevice::poll() noexcept {
  bool worked = false;
  while (!found_.empty()) {
    const ibv_wc completion = found_.front();
    found_.pop_front();
    worked = true;
    tell(completion);
  }
  for (std::size_t at = 0;; ++at) {
    std::shared_ptr<CompletionQueue> queue;
    {
      const std::lock_guard lock(mutex_);
      if (at >= completions_.size()) {
        break;
      }
      queue = completions_[at];
    }
    worked |= dispatch(*queue);
  }
  if (!attention_.exchange(false, std::memory_order_acquire)) {
    return worked;
  }
  std::vector<std::pair<Teller, Failure>> lost;
  std::vector<Teller> looked_after;
  {
    const std::lock_guard lock(mutex_);
    lost.swap(lost_);
    looked_after.swap(looked_after_);
  }
  for (const auto& [teller, why] : lost) {
    tell(teller, [&reason = why](VerbsQueuePair& told) { told.lose(reason); });
  }
  for (const Teller& teller : looked_after) {
    bool is_over = true;
    tell(teller, [&](VerbsQueuePair& told) { is_over = told.complete_unposted(); });
    if (!is_over) {
      const std::lock_guard lock(mutex_);
      looked_after_.push_back(teller);
      attention_.store(true, std::memory_order_release);
    }
  }
  return true;
}

bool VerbsDevice::prepare_to_sleep(bool&) noexcept {
  const std::lock_guard lock(mutex_);
  for (const auto& queue : completions_) {
    if (!queue->arm()) {
      return false;  // then it is polled on
    }
    std::array<ibv_wc, kCompletionsPerPoll> completions;
    const int count = queue->poll(completions);
    found_.insert(found_.end(), completions.begin(), completions.begin() + std::max(count, 0));
  }
  return found_.empty() && !attention_.load(std::memory_order_acquire);
}

void VerbsDevice::look_after(VerbsQueuePair& queue) {
  {
    const std::lock_guard lock(mutex_);
    looked_after_.push_back(queue.teller());
    attention_.store(true, std::memory_order_release);
  }
  reactor_.wake();
}

bool VerbsDevice::AsyncEvents::poll() noexcept {
  if (polls_++ % kPollsPerLook != 0) {
    return false;
  }
  bool any = false;
  ibv_async_event event{};
  while (device_.context().calls().get_async_event(device_.context().get(), &event) == 0) {
    device_.on_async(event);
    // A queue pair cannot be destroyed before its events have been acknowledged.
    device_.context().calls().ack_async_event(&event);
    any = true;
  }
  return any;
}

void VerbsDevice::on_async(const ibv_async_event& event) noexcept {
  switch (event.event_type) {
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_PATH_MIG_ERR: {
      const Failure why(errc::peer_unreachable, fmt::format("{} has given a queue pair up", name()));
      const std::lock_guard lock(mutex_);
      for (const auto& [serial, teller] : queues_) {
        const std::lock_guard guard(teller->mutex);
        if (teller->queue != nullptr && teller->queue->qp() == event.element.qp) {
          lost_.emplace_back(teller, why);
        }
      }
      break;
    }
    case IBV_EVENT_CQ_ERR:
      lose_all(Failure(errc::resource_exhausted, fmt::format("completions of {} were lost", name())));
      return;
    case IBV_EVENT_DEVICE_FATAL: {
      const Failure why(errc::peer_unreachable, fmt::format("{} has failed, or was removed", name()));
      {
        const std::lock_guard lock(mutex_);
        fatal_ = why;
      }
      lose_all(why);
      return;
    }
    case IBV_EVENT_PORT_ERR:
      // Queue pairs try again for as long as their timeout and retries say, and go on once the port is back.
      log_.write(LogLevel::warning, fmt::format("verbs: {} port {} is down", name(), event.element.port_num));
      return;
    case IBV_EVENT_PORT_ACTIVE:
      log_.write(LogLevel::info, fmt::format("verbs: {} port {} is up", name(), event.element.port_num));
      return;
    default:
      return;  // of a queue pair's error state its completions tell, or, where the peer's request was refused, the peer
  }
  attention_.store(true, std::memory_order_release);
  reactor_.wake();
}

void VerbsDevice::lose_all(const Failure& why) noexcept {
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [serial, teller] : queues_) {
      lost_.emplace_back(teller, why);
    }
    attention_.store(true, std::memory_order_release);
  }
  reactor_.wake();
}

}  // namespace ferry::verbs
