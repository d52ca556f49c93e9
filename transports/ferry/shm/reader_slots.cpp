#include <ferry/shm/reader_slots.hpp>

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include <fmt/format.h>

namespace ferry::shm {

constinit thread_local ReaderSlots::Cached ReaderSlots::cached{};

// Outlives the ReaderSlots as long as a thread holds a word of it.
struct ReaderSlots::State {
  explicit State(std::shared_ptr<const OwnBoard> board_of_node)
      : board(std::move(board_of_node)), readers(std::make_unique<Reader[]>(kReaders)), process(::getpid()) {
    for (std::size_t index = 0; index < kReaders; ++index) {
      readers[index].word = &(*board)->readers[index].value;
    }
  }

  Reader* take() {
    const std::lock_guard lock(mutex);
    if (!free.empty()) {
      Reader* reader = free.back();
      free.pop_back();
      return reader;
    }
    if (used == kReaders) {
      return nullptr;
    }
    Reader* reader = &readers[used++];
    (*board)->readers_used.value.store(used, std::memory_order_seq_cst);
    return reader;
  }
  void give_back(Reader* reader) {
    const std::lock_guard lock(mutex);
    free.push_back(reader);
  }

  const std::shared_ptr<const OwnBoard> board;
  const std::unique_ptr<Reader[]> readers;
  const pid_t process;
  mutable std::mutex mutex;
  std::vector<Reader*> free;
  std::size_t used = 0;
};

// The words that one thread holds, of all nodes in the process.
struct ReaderSlots::Threads {
  struct Held {
    std::uint64_t slots;
    std::weak_ptr<State> state;
    Reader* reader;
  };

  ~Threads() {
    cached = {};
    for (const Held& held : words) {
      if (const auto state = held.state.lock(); state != nullptr && state->process == ::getpid()) {
        state->give_back(held.reader);
      }
    }
  }

  std::vector<Held> words;
};

namespace {

std::uint64_t next_id() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

ReaderSlots::ReaderSlots(std::shared_ptr<const OwnBoard> board)
    : state_(std::make_shared<State>(std::move(board))), id_(next_id()) {
  // A child made by fork() must not write into its parent's board.
  static const int installed = ::pthread_atfork(nullptr, nullptr, [] { cached = {}; });
  static_cast<void>(installed);
}

ReaderSlots::~ReaderSlots() = default;

Reader* ReaderSlots::take() const noexcept {
  if (::getpid() != state_->process) {
    return nullptr;
  }
  static thread_local Threads threads;
  std::erase_if(threads.words, [](const Threads::Held& held) { return held.state.expired(); });
  const auto held = std::find_if(threads.words.begin(), threads.words.end(),
                                 [&](const Threads::Held& word) { return word.slots == id_; });
  Reader* reader = held != threads.words.end() ? held->reader : nullptr;
  if (reader == nullptr) {
    reader = state_->take();
    if (reader == nullptr) {
      return nullptr;
    }
    threads.words.push_back({id_, state_, reader});
  }
  cached = {id_, reader};
  return reader;
}

Failure ReaderSlots::why_none() const {
  if (::getpid() != state_->process) {
    return Failure(errc::wrong_process,
                   "the node was made by the parent of this process; after fork() only exec can follow");
  }
  return Failure(errc::resource_exhausted,
                 fmt::format("{} threads of this process access memory of others, and that is the most", kReaders));
}

ReaderSlots::Grace ReaderSlots::grace() const {
  Grace grace;
  const std::size_t used = (*state_->board)->readers_used.value.load(std::memory_order_seq_cst);
  for (std::size_t index = 0; index < used; ++index) {
    const Reader& reader = state_->readers[index];
    const std::uint64_t entries = reader.entries.load(std::memory_order_acquire);
    if (reader.word->load(std::memory_order_seq_cst) != 0) {
      grace.inside_.push_back({&reader, entries});
    }
  }
  if (!grace.inside_.empty()) {
    grace.keeps_alive_ = state_;
  }
  return grace;
}

bool ReaderSlots::Grace::has_passed() noexcept {
  std::erase_if(inside_, [](const Inside& inside) {
    return inside.reader->word->load(std::memory_order_seq_cst) == 0 ||
           inside.reader->entries.load(std::memory_order_acquire) > inside.entries + 1;
  });
  return inside_.empty();
}

std::uint64_t ReaderSlots::entries() const noexcept {
  std::uint64_t sum = 0;
  for (std::size_t index = 0; index < kReaders; ++index) {
    sum += state_->readers[index].entries.load(std::memory_order_relaxed);
  }
  return sum;
}

}  // namespace ferry::shm
