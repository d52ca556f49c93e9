// ReaderSlots: the reader words of this node's own board, one for each thread that accesses peers' memory.
//
// A thread takes a word at its first access and gives it back when it ends. mine() and Reading are the inner loop: no
// lock, no allocation, no system call once a thread has its word. A Grace tells when mappings that were taken out of
// use can be unmapped.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <ferry/base/failure.hpp>
#include <ferry/memory/region.hpp>
#include <ferry/shm/board.hpp>

namespace ferry::shm {

// One thread's word, and how often it was used; the count is this process's own.
struct alignas(64) Reader {
  std::atomic<std::uint64_t>* word = nullptr;
  std::atomic<std::uint64_t> entries{0};
};

// Says in the reader word that the thread reads a region, for as long as it lives. Not nested.
class Reading {
 public:
  Reading(Reader& reader, Generation generation) noexcept : word_(*reader.word) {
    reader.entries.store(reader.entries.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    word_.store(generation.value(), std::memory_order_seq_cst);
  }
  ~Reading() { word_.store(0, std::memory_order_release); }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

 private:
  std::atomic<std::uint64_t>& word_;
};

class ReaderSlots {
 public:
  // The board outlives the slots and every thread that still uses them.
  explicit ReaderSlots(std::shared_ptr<const OwnBoard> board);
  ~ReaderSlots();

  // The calling thread's; null if all are taken, or in a child made by fork(): why_none() says which.
  Reader* mine() const noexcept { return cached.slots == id_ ? cached.reader : take(); }
  Failure why_none() const;

  // The accesses that go on at this moment.
  class Grace {
   public:
    // True once every one of them has ended. Any thread, one at a time.
    bool has_passed() noexcept;

   private:
    friend class ReaderSlots;
    struct Inside {
      const Reader* reader;
      std::uint64_t entries;
    };
    std::vector<Inside> inside_;
    std::shared_ptr<const void> keeps_alive_;
  };
  // Whoever enters later sees what this thread stored (seq_cst) before.
  Grace grace() const;

  // Accesses ever begun, by all threads.
  std::uint64_t entries() const noexcept;

 private:
  struct State;
  struct Threads;
  struct Cached {
    std::uint64_t slots = 0;
    Reader* reader = nullptr;
  };
  static constinit thread_local Cached cached;

  Reader* take() const noexcept;

  std::shared_ptr<State> state_;
  std::uint64_t id_;  // never used again in this process
};

}  // namespace ferry::shm
