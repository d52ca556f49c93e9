#include <ferry/litmus_run/node_runs.hpp>

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <list>
#include <thread>
#include <utility>

namespace ferry::litmus_run {
namespace {

// Several threads of the node post to the queue, or poll it.
bool is_shared(const litmus::Program& program, litmus::QueueIndex queue) {
  return std::count_if(program.threads.begin(), program.threads.end(),
                       [&](const litmus::Thread& thread) { return thread.node == program.queues[queue].from; }) > 1;
}

// On a processor of its own where there are enough: threads that take turns on one never meet within an instruction.
void settle_on_processor(std::size_t number) noexcept {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
    return;
  }
  number %= static_cast<std::size_t>(CPU_COUNT(&allowed));
  for (std::size_t processor = 0; processor < std::size_t{CPU_SETSIZE}; ++processor) {
    if (CPU_ISSET(processor, &allowed) && number-- == 0) {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(processor, &one);
      static_cast<void>(::sched_setaffinity(0, sizeof one, &one));  // else the kernel chooses, as before
      return;
    }
  }
}

}  // namespace

NodeRuns::NodeRuns(const litmus::Program& program, litmus::NodeIndex node, const Layout& layout, Board& board,
                   std::byte* memory, std::vector<std::unique_ptr<RealQueue>> queues)
    : program_(program), node_(node), layout_(layout), board_(board), memory_(memory), queues_(std::move(queues)) {}

Result<Sightings> NodeRuns::run(const RunOrder& order) {
  std::vector<UsedQueue> used(queues_.size());
  ThreadPlace place{&program_, layout_, &board_, memory_, {}, order.jitter};
  if (order.wait_limit_ms > 0) {
    place.limit = std::chrono::milliseconds(order.wait_limit_ms);
  }
  for (std::size_t index = 0; index < queues_.size(); ++index) {
    used[index].queue = queues_[index].get();
    used[index].is_shared = is_shared(program_, static_cast<litmus::QueueIndex>(index));
    place.queues.push_back(queues_[index] == nullptr ? nullptr : &used[index]);
  }
  const auto in_batch = [&](std::uint64_t done) {
    return static_cast<std::size_t>(std::min<std::uint64_t>(layout_.slots, order.runs - done));
  };
  std::list<LitmusThread> threads;
  std::vector<std::jthread> running;
  for (litmus::ThreadIndex index = 0; index < program_.threads.size(); ++index) {
    if (program_.threads[index].node != node_) {
      continue;
    }
    LitmusThread& thread = threads.emplace_back(place, index, order.seed);
    running.emplace_back([this, index, &thread, &order, &in_batch] {
      settle_on_processor(index);
      for (std::uint64_t done = 0; done < order.runs; done += in_batch(done)) {
        if (!board_.meet_in_batch()) {
          return;
        }
        thread.run_batch(in_batch(done));
        if (!board_.meet_in_batch() || !board_.meet_in_batch()) {
          return;
        }
      }
    });
  }
  Sightings sightings;
  bool is_whole = true;
  for (std::uint64_t done = 0; is_whole && done < order.runs; done += in_batch(done)) {
    const std::size_t slots = in_batch(done);
    for (std::size_t slot = 0; slot < slots; ++slot) {
      reset(slot);
    }
    is_whole = board_.meet_in_batch() && board_.meet_in_batch();
    if (!is_whole) {
      break;
    }
    show_memory(slots);
    is_whole = board_.meet_in_batch();
    if (is_whole && node_ == 0) {
      gather(slots, sightings);
    }
  }
  running.clear();
  for (const LitmusThread& thread : threads) {
    if (thread.failure()) {
      return thread.failure();
    }
  }
  if (!is_whole) {
    return Failure(errc::shut_down, "another node of the litmus run has failed");
  }
  return sightings;
}

void NodeRuns::show_memory(std::size_t slots) {
  for (std::size_t slot = 0; slot < slots; ++slot) {
    const auto outcome = board_.outcome(slot);
    for (litmus::LocationIndex index = 0; index < program_.locations.size(); ++index) {
      if (program_.locations[index].node == node_) {
        outcome[index] = word(slot, index).load();
      }
    }
  }
}

void NodeRuns::gather(std::size_t slots, Sightings& sightings) {
  for (std::size_t slot = 0; slot < slots; ++slot) {
    if (board_.stuck(slot).load() != 0) {
      ++sightings.stuck;
      continue;
    }
    const auto outcome = board_.outcome(slot);
    ++sightings.outcomes[{outcome.begin(), outcome.end()}];
  }
}

std::atomic_ref<litmus::Value> NodeRuns::word(std::size_t slot, litmus::LocationIndex location) const {
  return std::atomic_ref(*reinterpret_cast<litmus::Value*>(memory_ + layout_.offset(slot, location)));
}

void NodeRuns::reset(std::size_t slot) {
  for (litmus::LocationIndex index = 0; index < program_.locations.size(); ++index) {
    word(slot, index).store(program_.locations[index].initial);
  }
  for (const auto& queue : queues_) {
    if (queue != nullptr) {
      queue->clear(slot);
    }
  }
  if (node_ == 0) {
    board_.clear(slot);
  }
}

}  // namespace ferry::litmus_run
