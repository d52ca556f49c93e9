// Transfer: one one-sided operation as an awaitable. What BufferRef's functions return.
//
// Starts when awaited, at most once; may be moved until then. Nothing is allocated: what it needs lies in the awaiting
// frame. Where the memory can be reached in place nothing suspends either, except that a long run of such operations
// yields when other work is ready. Dropping a suspended one cancels it and blocks until it is quiet.
#pragma once

#include <concepts>
#include <coroutine>
#include <cstdint>
#include <optional>

#include <ferry/base/as_result.hpp>
#include <ferry/base/process_mark.hpp>
#include <ferry/base/result.hpp>
#include <ferry/base/waiter.hpp>
#include <ferry/transport/operation.hpp>
#include <ferry/transport/peer.hpp>

namespace ferry {

namespace detail {

// A request that is refused before any traffic, or none. admit: also in a fork of the peer's process.
Failure check_request(const OperationRequest& request);
Failure admit(const OperationRequest& request, const Peer* peer);
// A failure with what was attempted, on whom and where.
Failure explain_failure(const OperationRequest& request, const Failure& failure, const Peer* peer);
// Counts a notification for the node's traffic report.
void count_notification(Peer& owner) noexcept;

// An operation that does not end in place: the wait for it.
class PendingTransfer final : public Waiter {
 public:
  PendingTransfer(Peer* peer, const OperationRequest& request) noexcept
      : Waiter(&give_up, &has_progressed), operation(request), peer_(peer) {}
  PendingTransfer(const PendingTransfer&) = delete;
  PendingTransfer& operator=(const PendingTransfer&) = delete;
  ~PendingTransfer();

  // Checks and starts. True: complete.
  bool start() noexcept;
  // Suspends until completion, or, where it is complete, lets others run first.
  bool suspend(std::coroutine_handle<> handle, const Limits& limits);
  void finish() noexcept;

  Operation operation;

 private:
  static void completed(Operation& operation) noexcept;
  static void give_up(Waiter& waiter, errc reason) noexcept;
  static bool has_progressed(Waiter& waiter) noexcept;

  Peer* peer_;
  std::uint64_t progress_seen_ = 0;
  bool in_flight_ = false;
};

class TransferBase {
 public:
  // One chunk. Each member is written once, where it stays: copies of an empty optional, or clearing the request first,
  // would take longer than the rest of an operation in place.
  TransferBase(Peer* peer, OperationKind kind, const RemoteRegion& region, const Chunk& single) noexcept
      : request_{.kind = kind, .region = region, .single = single}, peer_(peer) {}
  TransferBase(Peer* peer, OperationKind kind, const RemoteRegion& region, const Chunk& single,
               const Limits& limits) noexcept
      : request_{.kind = kind, .region = region, .single = single}, peer_(peer), limits_(limits) {}
  TransferBase(const TransferBase& other) noexcept
      : request_(other.request_), peer_(other.peer_), limits_(other.limits_) {}
  TransferBase& operator=(const TransferBase&) = delete;

  bool await_ready() noexcept {
    if (ended_in_place()) [[likely]] {
      return !Waiter::should_yield(request_.single.length);
    }
    return begin();
  }
  bool await_suspend(std::coroutine_handle<> handle) { return suspend(handle); }

  const OperationRequest& request() const noexcept { return request_; }
  bool has_limits() const noexcept { return limits_.timeout.has_value() || static_cast<bool>(limits_.stop); }
  Peer* peer() const noexcept { return peer_; }
  // For BufferRef, which fills it in.
  OperationRequest& request() noexcept { return request_; }

 protected:
  ~TransferBase() = default;

  // Ends the await; false: failed, see failure().
  bool finish() noexcept {
    if (!pending_) [[likely]] {
      return true;
    }
    pending_->finish();
    return !pending_->operation.failure;
  }
  Failure failure() const { return explain_failure(request_, pending_->operation.failure, peer_); }
  std::uint64_t result() const noexcept { return pending_ ? pending_->operation.result : result_; }

  OperationRequest request_;

 private:
  // The whole of a plain read or write, or an atomic, done at once where the memory is in reach.
  bool ended_in_place() noexcept {
    if (peer_ == nullptr || request_.list.data() != nullptr || process_mark() != 0 || Waiter::may_be_refused(limits_)) {
      return false;
    }
    if (is_atomic(request_.kind)) {
      return !check_request(request_) && peer_->try_atomic(request_, result_);
    }
    const Access needed = request_.kind == OperationKind::read ? Access::read : Access::write;
    return request_.kind != OperationKind::flush && permits(request_.region.rights, needed) && !request_.notify &&
           request_.single.length == request_.region.length && request_.region.kind == MemoryKind::host &&
           request_.single.local != nullptr &&
           peer_->try_transfer(request_.kind, request_.region, request_.single.local);
  }
  bool begin() noexcept;
  bool suspend(std::coroutine_handle<> handle);

  Peer* peer_;

 protected:
  Limits limits_{};

 private:
  std::uint64_t result_ = 0;
  std::optional<PendingTransfer> pending_;  // none: it ended in place
};

}  // namespace detail

// T: void, or std::uint64_t for atomics (the old value).
template <class T>
class [[nodiscard]] BasicTransfer final : public detail::TransferBase {
 public:
  using value_type = T;
  using TransferBase::TransferBase;

  // The same operation with these limits in place of its own.
  BasicTransfer with(const Limits& limits) && {
    limits_ = limits;
    return *this;
  }

  // Throws Error.
  T await_resume() {
    if (!finish()) [[unlikely]] {
      throw Error(failure());
    }
    if constexpr (!std::is_void_v<T>) {
      return result();
    }
  }

  // In place of await_resume: the outcome as a value.
  Result<T> await_result() {
    if (!finish()) {
      return failure();
    }
    if constexpr (std::is_void_v<T>) {
      return {};
    } else {
      return result();
    }
  }
};

using Transfer = BasicTransfer<void>;
using AtomicTransfer = BasicTransfer<std::uint64_t>;

}  // namespace ferry
