#include <ferry/system/source_set.hpp>

#include <algorithm>
#include <thread>

#include <ferry/base/check.hpp>

namespace ferry::system {
namespace {

// The set whose source this thread is inside of: removing from there must not wait for itself.
constinit thread_local const SourceSet* visiting_here = nullptr;

}  // namespace

SourceSet::~SourceSet() {
  FERRY_CHECK(entries_.empty());
}

void SourceSet::add(EventSource& source) {
  const std::lock_guard lock(mutex_);
  entries_.push_back(std::make_unique<Entry>(Entry{source, source.descriptor(), next_id_}));
  ++next_id_;
  version_.fetch_add(1);
}

void SourceSet::remove(EventSource& source) noexcept {
  std::unique_ptr<Entry> entry;
  {
    const std::lock_guard lock(mutex_);
    const auto at = std::find_if(entries_.begin(), entries_.end(), [&](auto& e) { return &e->source == &source; });
    FERRY_CHECK(at != entries_.end());
    entry = std::move(*at);
    entries_.erase(at);
    version_.fetch_add(1);
  }
  // The poller announces first and looks at the version then; so it has either seen the new list or is seen here.
  while (visiting_here != this && visited_.load() == entry.get()) {
    std::this_thread::yield();
  }
  if (entry->known) {
    loop_.forget(entry->descriptor);
  }
}

bool SourceSet::enter(Entry& entry) noexcept {
  visited_.store(&entry);
  if (version_.load() != polled_version_) {
    visited_.store(nullptr, std::memory_order_release);
    return false;
  }
  visiting_here = this;
  return true;
}

void SourceSet::leave() noexcept {
  visiting_here = nullptr;
  visited_.store(nullptr, std::memory_order_release);
}

void SourceSet::refresh() {
  const std::lock_guard lock(mutex_);
  polled_version_ = version_.load();
  polled_.clear();
  for (const auto& entry : entries_) {
    polled_.push_back(entry.get());
  }
}

bool SourceSet::poll() noexcept {
  bool any = false;
  if (version_.load(std::memory_order_relaxed) != polled_version_) {
    refresh();
    any = true;
  }
  if (std::exchange(any_prepared_, false)) {
    for (Entry* entry : polled_) {
      if (!enter(*entry)) {
        any_prepared_ = true;  // the rest in the next pass, which the caller is told to make
        return true;
      }
      if (std::exchange(entry->prepared, false)) {
        entry->source.woken();
      }
      leave();
    }
  }
  for (Entry* entry : polled_) {
    if (!enter(*entry)) {
      return true;
    }
    any |= entry->source.poll();
    leave();
  }
  return any;
}

bool SourceSet::prepare_to_sleep() noexcept {
  take_fired();
  for (Entry* entry : polled_) {
    if (!enter(*entry)) {
      return false;
    }
    bool write = false;
    entry->prepared = entry->source.prepare_to_sleep(write);
    any_prepared_ |= entry->prepared;
    const bool ready = entry->prepared && arm(*entry, write);
    leave();
    if (!ready) {
      return false;
    }
  }
  return version_.load() == polled_version_;
}

bool SourceSet::arm(Entry& entry, bool write) noexcept {
  if (entry.descriptor < 0 || (entry.armed && entry.armed_write == write)) {
    return true;
  }
  entry.armed = loop_.arm(entry.descriptor, entry.id, write, entry.known);
  entry.armed_write = write;
  entry.known |= entry.armed;
  return entry.armed;
}

void SourceSet::fired(std::span<const std::uint64_t> ids) {
  const std::lock_guard lock(mutex_);
  fired_.insert(fired_.end(), ids.begin(), ids.end());
  any_fired_.store(true, std::memory_order_release);
}

void SourceSet::take_fired() noexcept {
  if (!any_fired_.load(std::memory_order_acquire)) {
    return;
  }
  const std::lock_guard lock(mutex_);
  for (const std::uint64_t id : fired_) {
    const auto at = std::lower_bound(entries_.begin(), entries_.end(), id,
                                     [](const auto& entry, std::uint64_t wanted) { return entry->id < wanted; });
    if (at != entries_.end() && (*at)->id == id) {
      (*at)->armed = false;
    }
  }
  fired_.clear();
  any_fired_.store(false, std::memory_order_relaxed);
}

}  // namespace ferry::system
