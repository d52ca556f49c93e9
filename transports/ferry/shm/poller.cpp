#include <ferry/shm/poller.hpp>

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>
#include <utility>

#include <ferry/base/check.hpp>
#include <ferry/shm/os_failure.hpp>

namespace ferry::shm {
namespace {

// The poller that this thread is visiting something for: removing from there must not wait for itself.
constinit thread_local const Poller* visiting_here = nullptr;

}  // namespace

Poller::Poller(std::shared_ptr<OwnBoard> board, OwnDoorbell doorbell, FileDescriptor epoll, Reactor& reactor) noexcept
    : board_(std::move(board)), doorbell_(std::move(doorbell)), epoll_(std::move(epoll)), reactor_(reactor) {}

Poller::~Poller() {
  FERRY_CHECK(entries_.empty());
  wait_for_retired();
}

Result<std::unique_ptr<Poller>> Poller::create(std::shared_ptr<OwnBoard> board, OwnDoorbell doorbell,
                                               Reactor& reactor) {
  FileDescriptor epoll(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  if (!epoll || ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, doorbell.descriptor(), &event) != 0) {
    return os_failure(errno, "setting up the shared memory poller (epoll)", errc::resource_exhausted);
  }
  return std::unique_ptr<Poller>(new Poller(std::move(board), std::move(doorbell), std::move(epoll), reactor));
}

void Poller::add(const std::shared_ptr<Polled>& polled) {
  {
    const std::lock_guard lock(mutex_);
    auto entry = std::make_shared<Entry>();
    entry->id = next_id_++;
    entry->polled = polled;
    entries_.push_back(std::move(entry));
    version_.fetch_add(1, std::memory_order_release);
  }
  reactor_.wake();
}

void Poller::remove(const Polled& polled) noexcept {
  std::shared_ptr<Entry> entry;
  {
    const std::lock_guard lock(mutex_);
    const auto at =
        std::find_if(entries_.begin(), entries_.end(), [&](const auto& e) { return e->polled.get() == &polled; });
    if (at == entries_.end()) {
      return;
    }
    entry = std::move(*at);
    entries_.erase(at);
    version_.fetch_add(1, std::memory_order_release);
  }
  // The visitor announces first and looks at `removed` then; so it has either seen it or is seen here.
  entry->removed.store(true, std::memory_order_seq_cst);
  while (visiting_here != this && visited_.load(std::memory_order_seq_cst) == entry.get()) {
    std::this_thread::yield();
  }
  if (visiting_here != this) {
    reactor_.wake();  // the next poll lets go of it
  }
}

Result<void> Poller::watch(int descriptor, const Polled& polled, unsigned tag) {
  FERRY_CHECK(tag < kTags);
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  {
    const std::lock_guard lock(mutex_);
    const auto at =
        std::find_if(entries_.begin(), entries_.end(), [&](const auto& e) { return e->polled.get() == &polled; });
    if (at == entries_.end()) {
      return {};  // another thread takes it out at this moment, and then waits for the visit that asks for this
    }
    event.data.u64 = (*at)->id * kTags + tag;
  }
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) {
    return os_failure(errno, "watching a descriptor of a shared memory channel", errc::resource_exhausted);
  }
  return {};
}

void Poller::unwatch(int descriptor) noexcept {
  epoll_event ignored{};
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, &ignored);
}

void Poller::refresh() {
  if (version_.load(std::memory_order_acquire) != polled_version_) {
    const std::lock_guard lock(mutex_);
    polled_version_ = version_.load(std::memory_order_relaxed);
    polled_ = entries_;
  }
}

template <class Visit>
void Poller::visit(Entry& entry, Visit step) noexcept {
  visited_.store(&entry, std::memory_order_seq_cst);
  visiting_here = this;
  if (!entry.removed.load(std::memory_order_seq_cst)) {
    step(*entry.polled);
  }
  visiting_here = nullptr;
  visited_.store(nullptr, std::memory_order_release);
}

bool Poller::poll() noexcept {
  refresh();
  bool any = false;
  for (int look = 0; look < kLooks && !any; ++look) {
    for (const auto& entry : polled_) {
      visit(*entry, [&](Polled& polled) { any |= polled.poll(); });
    }
  }
  if (++polls_ % kKernelEvery == 0) {
    any |= ask_kernel();
  }
  if (retired_count_.load(std::memory_order_relaxed) > 0) {
    any |= destroy_retired();
  }
  return any;
}

bool Poller::ask_kernel() noexcept {
  std::array<epoll_event, 64> events{};
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int index = 0; index < count; ++index) {
    const std::uint64_t id = events[static_cast<std::size_t>(index)].data.u64 / kTags;
    const auto tag = static_cast<unsigned>(events[static_cast<std::size_t>(index)].data.u64 % kTags);
    if (id == 0) {
      doorbell_.drain();
      continue;
    }
    refresh();  // it may have been added since
    const auto at = std::lower_bound(polled_.begin(), polled_.end(), id,
                                     [](const auto& entry, std::uint64_t wanted) { return entry->id < wanted; });
    if (at != polled_.end() && (*at)->id == id) {
      const std::shared_ptr<Entry> entry = *at;
      visit(*entry, [&](Polled& polled) { polled.on_ready(tag); });
    }
  }
  return count > 0;
}

void Poller::set_state(std::uint64_t state) noexcept {
  (*board_)->state.value.store(state, std::memory_order_seq_cst);
}

bool Poller::prepare_to_sleep(bool&) noexcept {
  set_state(BoardLayout::kSleeping);
  refresh();
  bool work = false;
  for (const auto& entry : polled_) {
    visit(*entry, [&](Polled& polled) { work |= polled.has_work(); });
  }
  work |= version_.load(std::memory_order_acquire) != polled_version_;
  if (work) {
    set_state(BoardLayout::kAwake);
  }
  return !work;
}

void Poller::woken() noexcept {
  set_state(BoardLayout::kAwake);
  polls_ = kKernelEvery - 1;  // the next poll asks
}

void Poller::retire(ReaderSlots::Grace grace, std::shared_ptr<const void> object) {
  const std::lock_guard lock(mutex_);
  retired_.push_back({std::move(grace), std::move(object)});
  retired_count_.store(retired_.size(), std::memory_order_relaxed);
}

bool Poller::destroy_retired() noexcept {
  std::vector<Retired> passed;
  {
    const std::lock_guard lock(mutex_);
    const auto first =
        std::partition(retired_.begin(), retired_.end(), [](Retired& r) { return !r.grace.has_passed(); });
    std::move(first, retired_.end(), std::back_inserter(passed));
    retired_.erase(first, retired_.end());
    retired_count_.store(retired_.size(), std::memory_order_relaxed);
  }
  return !passed.empty();
}

void Poller::wait_for_retired() noexcept {
  while (retired_count_.load(std::memory_order_relaxed) > 0) {
    if (!destroy_retired()) {
      std::this_thread::yield();
    }
  }
}

}  // namespace ferry::shm
