// Transfer: one one-sided operation as an awaitable. What BufferRef's functions return.
//
// Starts when awaited, at most once; may be moved until then. The operation lives inside, in the awaiting frame;
// nothing is allocated. If it can complete inline nothing suspends, except that a long run of inline completions yields
// when other work is ready. Dropping a suspended one cancels it and blocks until it is quiet.
#pragma once

#include <concepts>
#include <coroutine>
#include <cstdint>

#include <ferry/base/result.hpp>
#include <ferry/base/waiter.hpp>
#include <ferry/transport/operation.hpp>
#include <ferry/transport/peer.hpp>

namespace ferry {

namespace detail {

// A request that is refused before any traffic, or none.
Failure check_request(const Operation& operation);
// The failure with what was attempted, on whom and where.
Failure explain_failure(const Operation& operation, const Peer* peer);

// Counts a notification for the node's traffic report.
void count_notification(Peer& owner) noexcept;

class TransferBase : protected Waiter {
 public:
  TransferBase(Peer* peer, const Limits& limits) noexcept : limits_(limits), peer_(peer) {
    operation_.on_complete = &TransferBase::completed;
  }
  TransferBase(const TransferBase&) noexcept = default;
  TransferBase& operator=(const TransferBase&) = delete;

  bool await_ready() noexcept {
    operation_.starter = this;
    operation_.failure = check_request(operation_);
    if (operation_.notify) [[unlikely]] {
      count_notification(*peer_);
    }
    if (operation_.failure || peer_->start(operation_) == Started::complete) [[likely]] {
      return !InlineBudget::current().spend(operation_.single.length) || !should_yield();
    }
    pending_ = true;
    return false;
  }

  bool await_suspend(std::coroutine_handle<> handle) {
    if (!pending_) {
      yield(handle);
      return true;
    }
    begin(handle, limits_, no_progress_limit());
    return commit();
  }

  // The operation, for Batch and Sequence, which run it themselves.
  const Operation& operation() const noexcept { return operation_; }
  Peer* peer() const noexcept { return peer_; }
  Executor& executor() const noexcept;

 protected:
  ~TransferBase() { end_early(); }

  // Ends the await; false: failed, see failure().
  bool finish() noexcept {
    end();
    pending_ = false;
    return !operation_.failure;
  }
  Failure failure() const { return explain_failure(operation_, peer_); }

  Operation operation_{};
  Limits limits_;

 private:
  static void completed(Operation& operation) noexcept;
  bool should_yield() const noexcept;
  Duration no_progress_limit() const noexcept;
  void end_early() noexcept;
  void give_up(errc reason) noexcept override;
  bool has_progressed() noexcept override;

  Peer* peer_;
  std::uint64_t progress_seen_ = 0;
  bool pending_ = false;
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
      return operation_.result;
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
      return operation_.result;
    }
  }

  // For BufferRef, which fills it in.
  Operation& request() noexcept { return operation_; }
};

using Transfer = BasicTransfer<void>;
using AtomicTransfer = BasicTransfer<std::uint64_t>;

// The outcome of an operation as Result<T>, without an exception and without another frame.
template <class Operation>
class [[nodiscard]] AsResult {
 public:
  explicit AsResult(Operation operation) noexcept : operation_(std::move(operation)) {}

  bool await_ready() noexcept(noexcept(operation_.await_ready())) { return operation_.await_ready(); }
  bool await_suspend(std::coroutine_handle<> handle) { return operation_.await_suspend(handle); }
  auto await_resume() { return operation_.await_result(); }

 private:
  Operation operation_;
};

template <class A>
requires requires(A& awaitable) {
  awaitable.await_result();
}
AsResult<A> as_result(A awaitable) {
  return AsResult<A>(std::move(awaitable));
}

}  // namespace ferry
