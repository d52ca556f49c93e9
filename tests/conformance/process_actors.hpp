// The actors of the suite's own processes, and the main function that is root, child and test runner in one.
#pragma once

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <numeric>
#include <string>
#include <system_error>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ferry/ferry.hpp>

#include <denied_memory.hpp>

#include "patterns.hpp"

namespace ferry::conformance {

// Owns memory, uses others', and can be found by the operating system.
class Resident final : public Actor {
 public:
  Resident(ActorContext& context, std::uint64_t number, std::uint64_t size)
      : context_(context), memory_(size), buffer_(context.register_memory(std::span(memory_))) {
    fill_pattern(memory_, number);
  }

  std::int64_t pid() const { return ::getpid(); }
  BufferRef memory() const { return buffer_.ref(); }
  // Memory that is not of ferry::allocate. Once.
  BufferRef other_memory(std::uint64_t bytes) {
    other_memory_.resize(bytes);
    other_buffer_ = context_.register_memory(std::span(other_memory_));
    return other_buffer_.ref();
  }
  std::uint64_t echo(std::uint64_t value) { return value; }

  // The numbers of the processes behind the references, in their order; 0 where the bytes are of none.
  Task<std::vector<std::uint64_t>> read_all(std::vector<BufferRef> references) {
    std::vector<std::uint64_t> numbers;
    for (const BufferRef& reference : references) {
      std::vector<std::byte> local(reference.size());
      co_await reference.read_into(std::span(local));
      std::uint64_t found = 0;
      for (std::uint64_t candidate = 1; candidate <= 64 && found == 0; ++candidate) {
        found = is_pattern(local, candidate) ? candidate : 0;
      }
      numbers.push_back(found);
    }
    co_return numbers;
  }
  Task<void> add_ones(BufferRef word, std::uint64_t count) {
    for (std::uint64_t round = 0; round < count; ++round) {
      co_await word.fetch_add(1);
    }
  }
  // Adds to its own word with its own instructions.
  void add_ones_here(std::uint64_t count) {
    std::atomic_ref<std::uint64_t> word(*reinterpret_cast<std::uint64_t*>(memory_.data()));
    for (std::uint64_t round = 0; round < count; ++round) {
      word.fetch_add(1);
    }
  }
  void clear() { std::ranges::fill(memory_, std::byte{0}); }
  std::uint64_t first_word() const { return *reinterpret_cast<const std::uint64_t*>(memory_.data()); }

  // Never ends by itself: reads and writes there again and again. The owner is notified that it has begun.
  Task<void> hammer(BufferRef memory) {
    std::vector<std::byte> local(memory.size());
    const BufferRef start = memory.subrange(0, 8);
    co_await start.write_from(std::span(local).first(8), {.notify = 1});
    for (;;) {
      co_await memory.read_into(std::span(local));
      co_await memory.write_from(std::span<const std::byte>(local));
    }
  }
  // The same, writing only.
  Task<void> overwrite(BufferRef memory) {
    const std::vector<std::byte> local(memory.size());
    const BufferRef start = memory.subrange(0, 8);
    co_await start.write_from(std::span(local).first(8), {.notify = 1});
    for (;;) {
      co_await memory.write_from(std::span(local));
    }
  }
  // See test::deny_memory_of_others().
  bool deny_memory_of_others() { return test::deny_memory_of_others(); }
  // Reads all of it, and then sets the word to how many bytes were `value`.
  Task<void> count_bytes(BufferRef memory, std::uint64_t value, BufferRef word) {
    std::vector<std::byte> local(memory.size());
    co_await memory.read_into(std::span(local));
    const auto found = std::count(local.begin(), local.end(), static_cast<std::byte>(value));
    co_await word.fetch_add(static_cast<std::uint64_t>(found));
  }
  Task<void> never_ends() {
    auto nap = sleep_for(std::chrono::hours(1));
    co_await nap;
  }

  static constexpr auto endpoints =
      ferry::endpoints<&Resident::pid, &Resident::memory, &Resident::echo, &Resident::read_all, &Resident::add_ones,
                       &Resident::add_ones_here, &Resident::clear, &Resident::first_word, &Resident::hammer,
                       &Resident::overwrite, &Resident::deny_memory_of_others, &Resident::count_bytes,
                       &Resident::never_ends, &Resident::other_memory>;

 private:
  ActorContext& context_;
  vector<std::byte> memory_;
  RDMABuffer buffer_;
  std::vector<std::byte> other_memory_;
  RDMABuffer other_buffer_;
};

// Returns once the process has stopped: nothing of it runs until resume_process().
inline void stop_process(std::int64_t pid) {
  siginfo_t info{};
  if (::kill(static_cast<pid_t>(pid), SIGSTOP) != 0 ||
      ::waitid(P_PID, static_cast<id_t>(pid), &info, WSTOPPED | WNOWAIT) != 0) {
    throw std::system_error(errno, std::generic_category(), "stopping a process");
  }
}
inline void resume_process(std::int64_t pid) {
  ::kill(static_cast<pid_t>(pid), SIGCONT);
}

inline std::string text_of(const Failure& failure) {
  return failure ? failure.to_text() : std::string("it succeeded");
}

// The failure of one await; none if it succeeded.
template <class A>
Task<Failure> failure_of(A awaitable) {
  auto outcome = as_result(std::move(awaitable));
  const auto result = co_await outcome;
  co_return result ? Failure() : result.error();
}

inline constexpr auto kProcessActors = actors<Resident>;

struct Residents {
  ProcMesh procs;
  std::vector<ActorRef<Resident>> actors;
  std::vector<BufferRef> memories;
  std::vector<std::int64_t> pids;
};

// Starts processes with one Resident each, numbered from 1.
inline Task<Residents> start_residents(Context context, std::size_t count, std::uint64_t bytes) {
  auto starting = context.this_host().spawn_procs(Shape(Dimension("procs", count)));
  const ProcMesh procs = co_await starting;
  Residents residents{procs, {}, {}, {}};
  for (std::size_t rank = 0; rank < count; ++rank) {
    auto spawning = residents.procs.slice("procs", rank).spawn<Resident>("resident", std::uint64_t{rank + 1}, bytes);
    const ActorMesh<Resident> mesh = co_await spawning;
    residents.actors.push_back(mesh.only());
    const BufferRef memory = co_await mesh.only().call<&Resident::memory>();
    residents.memories.push_back(memory);
    const std::int64_t pid = co_await mesh.only().call<&Resident::pid>();
    residents.pids.push_back(pid);
  }
  co_return residents;
}

}  // namespace ferry::conformance
