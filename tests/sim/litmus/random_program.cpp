#include "random_program.hpp"

#include <array>

#include <fmt/format.h>

namespace ferry::sim::litmus {
namespace {

constexpr std::size_t kMaxOperations = 4;
constexpr std::size_t kMaxExtraChunks = 1;
constexpr std::size_t kMaxCPU = 5;  // instructions that are no operation
constexpr std::array<const char*, 3> kNodes = {"A", "B", "C"};

class Generator {
 public:
  explicit Generator(Picks& picks) : picks_(picks) {}

  std::string generate() {
    std::string text = "litmus R\n";
    text += picks_.one_in(4) ? "atomics glob\n" : "";
    nodes_ = 1 + picks_.below(3);
    for (std::size_t node = 0; node < nodes_; ++node) {
      locations_.push_back(1 + picks_.below(2));
      for (std::size_t number = 0; number < locations_.back(); ++number) {
        text += fmt::format("init {}={}\n", location(node, number), picks_.below(3));
      }
    }
    const std::size_t queues = 1 + picks_.below(3);
    for (std::size_t queue = 0; queue < queues; ++queue) {
      queues_.push_back({picks_.below(nodes_), picks_.below(nodes_)});
      text += fmt::format("queue q{} {} {}\n", queue, kNodes[queues_.back().from], kNodes[queues_.back().to]);
    }
    const std::size_t threads = 1 + picks_.below(3);
    for (std::size_t thread = 0; thread < threads; ++thread) {
      text += generate_thread(thread);
    }
    return text;
  }

 private:
  struct Queue {
    std::size_t from;
    std::size_t to;
    std::size_t posted = 0, immediates = 0;  // not polled yet
  };

  static std::string location(std::size_t node, std::size_t number) {
    return fmt::format("{}@{}", number == 0 ? "x" : "y", kNodes[node]);
  }

  std::string some_location(std::size_t node) { return location(node, picks_.below(locations_[node])); }

  std::string generate_thread(std::size_t thread) {
    node_ = picks_.below(nodes_);
    registers_ = 0;
    std::string text = fmt::format("thread T{} on {}\n", thread, kNodes[node_]);
    const std::size_t length = 1 + picks_.below(4);
    for (std::size_t index = 0; index < length; ++index) {
      text += generate_instruction();
    }
    return text;
  }

  std::string generate_instruction() {
    const std::size_t kind = picks_.below(12);
    if (kind < 7 && operations_ < kMaxOperations) {
      for (std::size_t attempt = 0; attempt < queues_.size(); ++attempt) {
        const std::size_t queue = picks_.below(queues_.size());
        if (queues_[queue].from == node_) {
          ++operations_;
          return generate_operation(queue);
        }
      }
    }
    if (kind < 9) {
      if (const std::string poll = generate_poll(); !poll.empty()) {
        return poll;
      }
    }
    return cpu_++ < kMaxCPU ? generate_cpu() : std::string();
  }

  std::string generate_operation(std::size_t number) {
    Queue& queue = queues_[number];
    ++queue.posted;
    const std::size_t kind = picks_.below(8);
    const std::string fence = picks_.one_in(4) ? ".fence" : "";
    if (kind < 3) {
      std::string flags = fence;
      if (picks_.one_in(4)) {
        flags += ".imm";
        ++queue.immediates;
      }
      flags += picks_.one_in(5) ? ".inline" : "";
      std::string text =
          fmt::format("put{} q{} {} <- {}", flags, number, some_location(queue.to), some_location(node_));
      if (chunks_ < kMaxExtraChunks && picks_.one_in(3)) {
        ++chunks_;
        text += fmt::format(", {} <- {}", some_location(queue.to), some_location(node_));
      }
      return text + "\n";
    }
    if (kind < 6) {
      std::string text =
          fmt::format("get{} q{} {} <- {}", fence, number, some_location(node_), some_location(queue.to));
      if (chunks_ < kMaxExtraChunks && picks_.one_in(3)) {
        ++chunks_;
        text += fmt::format(", {} <- {}", some_location(node_), some_location(queue.to));
      }
      return text + "\n";
    }
    const std::string atomic =
        fmt::format("{} q{} {} <- {}", fence, number, some_location(node_), some_location(queue.to));
    return kind == 6 ? fmt::format("rfaa{} + {}\n", atomic, 1 + picks_.below(3))
                     : fmt::format("rcas{} : {} -> {}\n", atomic, picks_.below(3), 3 + picks_.below(2));
  }

  // Mostly one that may be satisfied.
  std::string generate_poll() {
    const bool is_careless = picks_.one_in(30);
    for (std::size_t number = 0; number < queues_.size(); ++number) {
      Queue& queue = queues_[number];
      if (queue.from == node_ && (queue.posted > 0 || is_careless)) {
        queue.posted -= queue.posted > 0 ? 1 : 0;
        return fmt::format("poll q{}\n", number);
      }
      if (queue.to == node_ && queue.immediates > 0) {
        --queue.immediates;
        return fmt::format("rpoll q{}\n", number);
      }
    }
    return {};
  }

  std::string generate_cpu() {
    const std::string where = some_location(node_);
    switch (picks_.below(9)) {
      case 0:
      case 1:
      case 2:
        return fmt::format("ld r{} {}\n", registers_++, where);
      case 3:
      case 4:
        return fmt::format("st {} {}\n", where, 5 + picks_.below(3));
      case 5:
        return fmt::format("st {} {}\n", where, registers_ > 0 ? fmt::format("r{}", picks_.below(registers_)) : "8");
      case 6:
        return "mf\n";
      case 7:
        return picks_.one_in(3) ? fmt::format("wait {} {}\n", where, picks_.below(4))
                                : fmt::format("faa r{} {} {}\n", registers_++, where, 1 + picks_.below(2));
      default:
        return fmt::format("cas r{} {} {} {}\n", registers_++, where, picks_.below(3), 3 + picks_.below(2));
    }
  }

  Picks& picks_;
  std::size_t nodes_ = 1;
  std::vector<std::size_t> locations_;  // how many, by node
  std::vector<Queue> queues_;
  std::size_t node_ = 0;       // of the thread
  std::size_t registers_ = 0;  // of the thread
  std::size_t operations_ = 0;
  std::size_t chunks_ = 0;  // beyond one an operation
  std::size_t cpu_ = 0;
};

}  // namespace

std::string random_program(Picks& picks) {
  return Generator(picks).generate();
}

}  // namespace ferry::sim::litmus
