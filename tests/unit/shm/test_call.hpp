// Call: an operation that the test waits for; Read, Write, Atomic; bytes to move; Tags: who is notified. Test code
// only.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include <ferry/base/executor.hpp>
#include <ferry/memory/region_table.hpp>
#include <ferry/transport/peer.hpp>

namespace ferry::shm::testing {

// An operation with a latch.
class Call : public Operation {
 public:
  Call() {
    on_complete = [](Operation& operation) noexcept {
      static_cast<Call&>(operation).completions.fetch_add(1);
      static_cast<Call&>(operation).done_.set();
    };
  }

  // Starts it; the test goes on.
  Call& start(Peer& peer) {
    peer_ = &peer;
    if (peer.start(*this) == Started::complete) {
      inline_ = true;
      completions.fetch_add(1);
      done_.set();
    }
    return *this;
  }
  // Waits until it is complete.
  const Failure& wait() {
    done_.block();
    return failure;
  }
  const Failure& run(Peer& peer) { return start(peer).wait(); }
  bool is_done() const { return done_.is_set(); }
  bool was_inline() const { return inline_; }
  errc code() const { return failure ? failure.code() : errc{}; }

  std::atomic<int> completions{0};

 private:
  Latch done_;
  Peer* peer_ = nullptr;
  bool inline_ = false;
};

class Read : public Call {
 public:
  Read(const RemoteRegion& from, std::span<std::byte> to) {
    kind = OperationKind::read;
    region = from;
    single = {0, to.data(), to.size()};
  }
};

class Write : public Call {
 public:
  Write(const RemoteRegion& to, std::span<std::byte> from) {
    kind = OperationKind::write;
    region = to;
    single = {0, from.data(), from.size()};
  }
};

class Atomic : public Call {
 public:
  Atomic(OperationKind which, const RemoteRegion& on, std::uint64_t offset, std::uint64_t value,
         std::uint64_t expect = 0) {
    kind = which;
    region = on;
    single = {offset, nullptr, sizeof(std::uint64_t)};
    operand = value;
    expected = expect;
  }
};

inline errc read_once(Peer& peer, const RemoteRegion& region) {
  std::vector<std::byte> bytes(region.length);
  Read read(region, bytes);
  read.run(peer);
  return read.code();
}

// Notifications: their tags, and what a watched word was when each came. Full at the limit.
class Tags final : public NotificationSink {
 public:
  bool on_notify(std::uint64_t tag) noexcept override {
    const std::lock_guard lock(mutex_);
    if (tags_.size() >= limit) {
      return false;
    }
    tags_.push_back(tag);
    seen_.push_back(watched != nullptr ? std::atomic_ref(*watched).load() : 0);
    return true;
  }
  std::vector<std::uint64_t> tags() const {
    const std::lock_guard lock(mutex_);
    return tags_;
  }
  std::vector<std::uint64_t> seen() const {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  std::uint64_t* watched = nullptr;
  std::size_t limit = SIZE_MAX;

 private:
  mutable std::mutex mutex_;
  std::vector<std::uint64_t> tags_;
  std::vector<std::uint64_t> seen_;
};

inline std::uint64_t checksum(std::span<const std::byte> bytes) {
  std::uint64_t sum = bytes.size();
  for (const std::byte byte : bytes) {
    sum = sum * 0x100000001b3 + static_cast<std::uint64_t>(byte);
  }
  return sum;
}

inline std::vector<std::byte> pattern(std::size_t size, unsigned seed = 1) {
  std::vector<std::byte> bytes(size);
  for (std::size_t index = 0; index < size; ++index) {
    bytes[index] = static_cast<std::byte>((index * 131 + index / 251 + seed * 17) & 0xff);
  }
  return bytes;
}

}  // namespace ferry::shm::testing
