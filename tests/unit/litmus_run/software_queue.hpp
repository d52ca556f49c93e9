// SoftwareQueue: a litmus queue that a thread executes as a strict NIC would, or with a known fault: what the harness
// must find.
//
// Requests are executed in order; what gets and atomics bring back lands later, when the thread feels like it.
#pragma once

#include <atomic>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include <ferry/base/random.hpp>
#include <ferry/litmus_run/board.hpp>
#include <ferry/litmus_run/real_queue.hpp>

namespace ferry::litmus_run {

enum class QueueFault : unsigned char {
  none,
  ignores_fences,
  reorders,         // a request may pass the one before it
  copies_late,      // inline words are read when the request is executed
  completes_early,  // before anything happened
  notifies_early,   // before the bytes
  fails,            // the first request
};

class SoftwareQueue final : public RealQueue {
 public:
  SoftwareQueue(litmus::QueueIndex queue, const Layout& layout, Board& board, std::byte* local, std::byte* remote,
                QueueFault fault)
      : queue_(queue),
        layout_(layout),
        board_(board),
        local_(local),
        remote_(remote),
        fault_(fault),
        counts_(std::make_unique<Counts[]>(layout.slots)) {
    nic_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
  }

  void clear(std::size_t slot) noexcept override {
    counts_[slot].posted = counts_[slot].taken = 0;
    counts_[slot].completed.store(0);
  }
  bool post(std::size_t slot, const litmus::Operation& operation) noexcept override {
    Request request{slot, &operation, {}};
    if (operation.is_inline && fault_ != QueueFault::copies_late) {
      for (const litmus::Chunk& chunk : operation.chunks) {
        request.copied.push_back(word(local_, slot, chunk.local).load());
      }
    }
    ++counts_[slot].posted;
    if (fault_ == QueueFault::fails) {
      return false;
    }
    if (fault_ == QueueFault::completes_early) {
      ++counts_[slot].completed;
    }
    if (operation.has_immediate && fault_ == QueueFault::notifies_early) {
      ++board_.notifications(slot, queue_).arrived;
    }
    ++under_way_;
    const std::lock_guard lock(mutex_);
    requests_.push_back(std::move(request));
    return true;
  }
  bool take_completion(std::size_t slot) noexcept override {
    Counts& counts = counts_[slot];
    if (counts.taken >= counts.completed.load()) {
      return false;
    }
    ++counts.taken;
    return true;
  }
  bool is_quiet(std::size_t /*slot*/) noexcept override { return under_way_.load() == 0; }
  Failure failure(std::size_t slot) const override {
    return fault_ == QueueFault::fails && counts_[slot].posted > 0 ? Failure(errc::peer_lost, "as the test wanted")
                                                                   : Failure();
  }

 private:
  struct Request {
    std::size_t slot = 0;
    const litmus::Operation* operation = nullptr;
    std::vector<litmus::Value> copied;
  };
  struct Landing {
    std::size_t slot;
    litmus::LocationIndex local;
    litmus::Value value;
  };
  struct Counts {
    std::size_t posted = 0;
    std::size_t taken = 0;
    std::atomic<std::size_t> completed{0};
  };

  std::atomic_ref<litmus::Value> word(std::byte* memory, std::size_t slot, litmus::LocationIndex location) const {
    return std::atomic_ref(*reinterpret_cast<litmus::Value*>(memory + layout_.offset(slot, location)));
  }

  bool take(Request& request) {
    const std::lock_guard lock(mutex_);
    if (requests_.empty()) {
      return false;
    }
    if (fault_ == QueueFault::reorders && requests_.size() > 1 && random_.below(2) == 0) {
      std::swap(requests_[0], requests_[1]);
    }
    request = std::move(requests_.front());
    requests_.pop_front();
    return true;
  }

  void work(const std::stop_token& stop) {
    for (std::size_t turn = 0; !stop.stop_requested(); ++turn) {
      Request request;
      if (take(request)) {
        execute(request);
        // Now and then it dawdles, so that more than one request waits.
        pause_for(random_.below(4) == 0 ? random_.below(500) : 0);
        turn = 0;
      } else {
        land();
        wait_a_little(turn);
      }
      if (random_.below(2) == 0) {
        land();
      }
    }
  }

  void execute(const Request& request) {
    const litmus::Operation& operation = *request.operation;
    if (operation.is_fenced && fault_ != QueueFault::ignores_fences) {
      land();
    }
    for (std::size_t index = 0; index < operation.chunks.size(); ++index) {
      const auto [local, remote] = operation.chunks[index];
      auto there = word(remote_, request.slot, remote);
      switch (operation.kind) {
        case litmus::OperationKind::put:
          there.store(request.copied.empty() ? word(local_, request.slot, local).load() : request.copied[index]);
          break;
        case litmus::OperationKind::get:
          landing_.push_back({request.slot, local, there.load()});
          break;
        case litmus::OperationKind::fetch_add:
          landing_.push_back({request.slot, local, there.fetch_add(operation.operand)});
          break;
        case litmus::OperationKind::compare_swap: {
          litmus::Value old = operation.expected;
          there.compare_exchange_strong(old, operation.operand);
          landing_.push_back({request.slot, local, old});
          break;
        }
      }
    }
    if (operation.has_immediate && fault_ != QueueFault::notifies_early) {
      ++board_.notifications(request.slot, queue_).arrived;
    }
    ended_.push_back(request.slot);
    if (landing_.empty()) {
      land();
    }
  }

  void land() {
    for (const Landing& each : landing_) {
      word(local_, each.slot, each.local).store(each.value);
    }
    landing_.clear();
    for (const std::size_t slot : std::exchange(ended_, {})) {
      if (fault_ != QueueFault::completes_early) {
        ++counts_[slot].completed;
      }
      --under_way_;
    }
  }

  const litmus::QueueIndex queue_;
  const Layout layout_;
  Board& board_;
  std::byte* const local_;
  std::byte* const remote_;
  const QueueFault fault_;
  std::unique_ptr<Counts[]> counts_;
  std::atomic<std::size_t> under_way_{0};
  std::mutex mutex_;
  std::deque<Request> requests_;
  Random random_{7};
  std::vector<Landing> landing_;
  std::vector<std::size_t> ended_;
  std::jthread nic_;
};

}  // namespace ferry::litmus_run
