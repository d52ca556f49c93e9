// Completion tokens of Boost.Asio for ferry's operations and calls, for programs that live on an io_context already:
//
//   std::future<void> read = ferry::async(weights.read_into(span), boost::asio::use_future);
//   ferry::async(server.call<&Server::get>(), [](std::exception_ptr error, Value value) { … });
//
// Any token will do: use_future, a callback, use_awaitable, deferred, … Starts when the token initiates (use_awaitable
// and deferred: when awaited or called; others: at once). The handler always runs through its associated executor (the
// system executor if it has none), never inside async(), also where the operation ends in place; until then it keeps
// that executor's context busy. Its signature is void(std::exception_ptr) or void(std::exception_ptr, T), the exception
// being a ferry::Error, T default-constructible (what it is when there is an exception).
//
// What is awaited belongs to a Node. A Node that is destroyed ends what is under way (shut_down, or as its channel
// ended) and waits for it, not for the handlers. Limits and stop tokens are given to the operation or call itself;
// cancellation slots are not looked at. Any thread.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/system_executor.hpp>

#include <ferry/base/failure.hpp>
#include <ferry/base/root_task.hpp>
#include <ferry/base/start.hpp>
#include <ferry/transport/node_core.hpp>
#include <ferry/transport/peer.hpp>

namespace ferry {

namespace detail {

template <class T>
struct AsioSignature {
  using type = void(std::exception_ptr, T);
};
template <>
struct AsioSignature<void> {
  using type = void(std::exception_ptr);
};

// The handler's turn, on its executor.
template <class Executor, class Handler, class... T>
void post_outcome(const Executor& executor, Handler handler, std::exception_ptr error, T... value) {
  boost::asio::post(executor, [handler = std::move(handler), error, ... value = std::move(value)]() mutable {
    std::move(handler)(error, std::move(value)...);
  });
}

// An empty reference has no node to start anything on.
template <class T, class Handler>
void refuse_empty(Handler handler) {
  const auto executor = boost::asio::get_associated_executor(handler, boost::asio::system_executor());
  const std::exception_ptr error = std::make_exception_ptr(Error(empty_reference().during("async")));
  if constexpr (std::is_void_v<T>) {
    post_outcome(executor, std::move(handler), error);
  } else {
    post_outcome(executor, std::move(handler), error, T{});
  }
}

// One awaitable on its way, with the handler that waits for it. Owns itself until the handler has been posted; ended by
// a job of the executor, never on its own strand.
template <class T, class Handler>
class AsioOperation final : private Job {
 public:
  static void start(NodeCore& node, Task<T> task, Handler handler) {
    auto* self = new AsioOperation(node, std::move(task), std::move(handler));
    node.under_way().enter();
    self->root_.post();
  }

 private:
  using HandlerExecutor = boost::asio::associated_executor_t<Handler, boost::asio::system_executor>;

  AsioOperation(NodeCore& node, Task<T> task, Handler handler)
      : Job(&AsioOperation::finish),
        node_(node),
        strand_(node.executor(), &node),
        root_(strand_, std::move(task), &AsioOperation::done, this),
        handler_(std::move(handler)),
        work_(boost::asio::get_associated_executor(handler_, boost::asio::system_executor())) {}

  static void done(RootTask<T>&, void* user) noexcept {
    auto& self = *static_cast<AsioOperation*>(user);
    self.node_.executor().post(self);
  }

  static void finish(Job& job) noexcept {
    std::unique_ptr<AsioOperation> self(static_cast<AsioOperation*>(&job));
    NodeCore& node = self->node_;
    hand_over(*self);
    self.reset();
    node.under_way().leave();
  }

  static void hand_over(AsioOperation& self) noexcept {
    std::exception_ptr error;
    if constexpr (std::is_void_v<T>) {
      try {
        self.root_.take();
      } catch (...) {
        error = std::current_exception();
      }
      post_outcome(self.work_.get_executor(), std::move(self.handler_), error);
    } else {
      T value{};
      try {
        value = self.root_.take();
      } catch (...) {
        error = std::current_exception();
      }
      post_outcome(self.work_.get_executor(), std::move(self.handler_), error, std::move(value));
    }
  }

  NodeCore& node_;
  Strand strand_;
  RootTask<T> root_;
  Handler handler_;
  boost::asio::executor_work_guard<HandlerExecutor> work_;
};

}  // namespace detail

// An operation (BufferRef) or call (ActorRef). Throws Error (wrong_process) in a fork, where Asio too may have no
// thread to call a handler.
template <class A, class Token>
requires requires(A& awaitable) {
  awaitable.peer();
  typename A::value_type;
}
auto async(A awaitable, Token&& token) {
  using T = typename A::value_type;
  if (awaitable.peer() != nullptr && !awaitable.peer()->node().executor().is_of_this_process()) {
    throw Error(made_before_fork().during("async"));
  }
  return boost::asio::async_initiate<Token, typename detail::AsioSignature<T>::type>(
      [](auto handler, A started) {
        if (started.peer() == nullptr) {
          detail::refuse_empty<T>(std::move(handler));
          return;
        }
        NodeCore& node = started.peer()->node();
        detail::AsioOperation<T, decltype(handler)>::start(node, detail::as_task(std::move(started)),
                                                           std::move(handler));
      },
      token, std::move(awaitable));
}

}  // namespace ferry
