// Session: what an owner remembers of one initiator over all its sockets: which of its atomics have been executed and
// what they gave, so that one that is sent again is answered and not executed again; and which socket is the present
// one.
//
// Owner: the SessionTable; shared with the initiator's TcpInbound. Any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <ferry/base/result.hpp>
#include <ferry/memory/process_id.hpp>

namespace ferry::tcp {

class TcpInbound;

// Executed atomics of one initiator, in the order of their numbers. Not thread-safe.
class AtomicLog {
 public:
  struct Reply {
    std::uint64_t number = 0;
    std::uint64_t value = 0;  // the old one
    Failure failure{};
  };

  // The reply of an atomic that was executed before; null if this one was not.
  // malformed if it was, and the initiator has acknowledged the answer, or if too many are unacknowledged.
  Result<const Reply*> find(std::uint64_t number, std::uint64_t acknowledged);
  // Of a number greater than every one before.
  void add(Reply reply);
  void acknowledge(std::uint64_t number) noexcept;
  bool empty() const noexcept { return count_ == 0; }

 private:
  Reply& at(std::size_t index) noexcept { return ring_[(first_ + index) % ring_.size()]; }

  std::vector<Reply> ring_;  // grows, up to kAtomicsInFlight
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  std::uint64_t last_ = 0;  // executed
};

class Session {
 public:
  Session(ProcessId initiator, std::uint64_t token) noexcept : initiator_(initiator), token_(token) {}

  ProcessId initiator() const noexcept { return initiator_; }
  std::uint64_t token() const noexcept { return token_; }

  // The initiator's new socket takes over from an earlier one, in two steps, so that the earlier one can be ended in
  // between without a lock.
  enum class Takeover : unsigned char { begun, busy, stale };
  // begun: `before`, if not null, has to be ended, then finish() called. stale: a later socket was here first.
  Takeover begin_takeover(std::uint64_t channel, std::shared_ptr<TcpInbound>& before);
  void finish_takeover(std::shared_ptr<TcpInbound> now);

  // The inbound has ended by itself.
  void forget(const TcpInbound& inbound) noexcept;

  // The log, for as long as the lock is held.
  std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }
  AtomicLog& atomics() noexcept { return atomics_; }

  bool has_inbound() const noexcept;

 private:
  const ProcessId initiator_;
  const std::uint64_t token_;
  mutable std::mutex mutex_;
  std::uint64_t channel_ = 0;
  bool taking_over_ = false;
  std::shared_ptr<TcpInbound> inbound_;
  AtomicLog atomics_;
};

class SessionTable {
 public:
  // Sessions without a socket. Beyond, the oldest is forgotten: should its initiator come back, its unanswered atomics
  // end outcome_unknown.
  static constexpr std::size_t kOrphans = 1024;

  // Made at first sight.
  std::shared_ptr<Session> find_or_add(ProcessId initiator);
  // The session's socket has ended. for_good: the initiator said that it will not come back.
  void orphaned(const Session& session, bool for_good);

  std::size_t size() const noexcept;

 private:
  mutable std::mutex mutex_;
  std::map<ProcessId, std::shared_ptr<Session>> sessions_;
  std::deque<ProcessId> orphans_;  // oldest first; some have come back
  std::uint64_t next_token_ = 1;   // never reused, so that an initiator sees whether it was forgotten
};

}  // namespace ferry::tcp
