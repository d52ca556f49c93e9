// OnNode<T>: a task that runs on a strand of another node, awaited from this one: how a scenario acts for several
// processes. Test code only; programs do the same with messages.
//
// A stop or deadline of the awaiting task stops the remote one and waits for its end. Dropping it does the same and
// blocks, which in the simulator is possible only where the task then ends by itself.
#pragma once

#include <coroutine>
#include <memory>
#include <optional>
#include <utility>

#include <ferry/base/root_task.hpp>
#include <ferry/base/start.hpp>
#include <ferry/base/waiter.hpp>
#include <ferry/transport/node_core.hpp>

namespace ferry::conformance {

template <class T>
class [[nodiscard]] OnNode final : private Waiter {
 public:
  using value_type = T;

  OnNode(NodeCore& node, Task<T> task) : Waiter(&give_up), state_(std::make_unique<State>(node, std::move(task))) {}
  OnNode(OnNode&& other) noexcept : Waiter(other), state_(std::move(other.state_)) {}
  ~OnNode() {
    end();
    if (state_ != nullptr && started_) {
      state_->stop.request_stop();
      state_->executor.wait(state_->ended);  // at most a moment, where it was awaited
    }
  }

  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> handle) {
    begin(handle, {});
    started_ = true;
    state_->waiter = this;
    state_->root.post();
    return commit();
  }
  T await_resume() {
    end();
    return state_->root.take();
  }

 private:
  struct State final : ferry::Job {
    State(NodeCore& node, Task<T> task)
        : ferry::Job(&State::finish),
          executor(node.executor()),
          strand(executor, &node),
          root(strand, std::move(task), &State::done, this) {
      root.scope().stop = stop.get_token();
    }

    // Inside the task's last step; its end is told by a step of its own.
    static void done(ferry::detail::RootTask<T>&, void* user) noexcept {
      auto& self = *static_cast<State*>(user);
      self.strand.post(self);
    }
    static void finish(ferry::Job& job) noexcept {
      auto& self = static_cast<State&>(job);
      self.waiter->wake();
      self.ended.set();  // the last touch
    }

    Executor& executor;
    StopSource stop;
    Latch ended;
    OnNode* waiter = nullptr;
    Strand strand;
    ferry::detail::RootTask<T> root;
  };

  static void give_up(Waiter& waiter, errc) noexcept { static_cast<OnNode&>(waiter).state_->stop.request_stop(); }

  std::unique_ptr<State> state_;
  bool started_ = false;
};

}  // namespace ferry::conformance
