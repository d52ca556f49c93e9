#include <ferry/litmus_run/board.hpp>

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <new>
#include <string>

#include <fmt/format.h>

namespace ferry::litmus_run {
namespace {

constexpr std::size_t kBoardBytes = std::size_t{64} << 20;  // reserved; pages come with their first use
constexpr std::size_t kHeaderBytes = 4096;
constexpr std::size_t kPausesBeforeYield = 300;
constexpr std::size_t kTurnsBeforeSleep = 600;
constexpr long kLongestSleep = 50'000'000;  // ns: how late a thread may see that the board was given up

static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

Failure os_failure(std::string_view what) {
  return Failure(errc::resource_exhausted, fmt::format("{}: {}", what, std::strerror(errno)));
}

Result<std::byte*> map(int descriptor) {
  void* const base = ::mmap(nullptr, kBoardBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (base == MAP_FAILED) {
    return os_failure("the memory that the processes of a litmus run share could not be mapped");
  }
  return static_cast<std::byte*>(base);
}

// Between processes, which std::atomic::wait is not.
void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t value) noexcept {
  const timespec limit{0, kLongestSleep};
  static_cast<void>(::syscall(SYS_futex, &word, FUTEX_WAIT, value, &limit, nullptr, 0));
}
void wake_all(std::atomic<std::uint32_t>& word) noexcept {
  static_cast<void>(::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0));
}

}  // namespace

void pause_for(std::uint64_t pauses) noexcept {
  for (; pauses > 0; --pauses) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
  }
}

void wait_a_little(std::size_t spins) noexcept {
  if (spins < kPausesBeforeYield) {
    pause_for(1);
  } else {
    ::sched_yield();
  }
}

Result<Board> Board::create() {
  const int descriptor = ::memfd_create("ferry-litmus", MFD_CLOEXEC);
  if (descriptor < 0 || ::ftruncate(descriptor, kBoardBytes) != 0) {
    const Failure why = os_failure("the memory that the processes of a litmus run share could not be made");
    if (descriptor >= 0) {
      ::close(descriptor);
    }
    return why;
  }
  const auto base = map(descriptor);
  if (!base) {
    ::close(descriptor);
    return base.error();
  }
  new (*base) Header{};
  return Board(*base, descriptor);
}

Result<Board> Board::open(const BoardPlace& place) {
  const std::string path = fmt::format("/proc/{}/fd/{}", place.process, place.descriptor);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) {
    return os_failure(fmt::format("{}, which the processes of a litmus run share, could not be opened", path));
  }
  const auto base = map(descriptor);
  if (!base) {
    ::close(descriptor);
    return base.error();
  }
  return Board(*base, descriptor);
}

Board::~Board() {
  if (base_ != nullptr) {
    ::munmap(base_, kBoardBytes);
    ::close(descriptor_);
  }
}

BoardPlace Board::place() const noexcept {
  return {static_cast<std::int32_t>(::getpid()), descriptor_};
}

Result<void> Board::lay_out(const litmus::Program& program, const Layout& layout) {
  static_assert(sizeof(Header) <= kHeaderBytes);
  const std::size_t values = program.locations.size() + program.registers.size();
  const std::size_t bytes =
      sizeof(Slot) + values * sizeof(litmus::Value) + program.queues.size() * sizeof(Notifications);
  const std::size_t slot_bytes = (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
  if (slot_bytes * layout.slots > kBoardBytes - kHeaderBytes) {
    return Failure(errc::unsupported, fmt::format("{} is too large to be run", program.name));
  }
  Header& at = *new (base_) Header{};
  at.batch.parties = static_cast<std::uint32_t>(program.threads.size() + program.nodes.size());
  at.run.parties = static_cast<std::uint32_t>(program.threads.size());
  at.queues = static_cast<std::uint32_t>(program.queues.size());
  at.values = values;
  at.slot_bytes = slot_bytes;
  at.slots = layout.slots;
  return {};
}

Board::Slot& Board::slot_at(std::size_t slot) const noexcept {
  return *reinterpret_cast<Slot*>(base_ + kHeaderBytes + slot * header().slot_bytes);
}

std::span<litmus::Value> Board::outcome(std::size_t slot) noexcept {
  return {reinterpret_cast<litmus::Value*>(reinterpret_cast<std::byte*>(&slot_at(slot)) + sizeof(Slot)),
          header().values};
}

Notifications& Board::notifications(std::size_t slot, litmus::QueueIndex queue) noexcept {
  return reinterpret_cast<Notifications*>(outcome(slot).data() + header().values)[queue];
}

void Board::clear(std::size_t slot) noexcept {
  standing(slot).store(0, std::memory_order_relaxed);
  stuck(slot).store(0, std::memory_order_relaxed);
  for (std::uint32_t queue = 0; queue < header().queues; ++queue) {
    new (&notifications(slot, static_cast<litmus::QueueIndex>(queue))) Notifications{};
  }
}

void Board::give_up() noexcept {
  header().is_given_up.store(1, std::memory_order_release);
}

bool Board::meet(Barrier& barrier) noexcept {
  const std::uint32_t generation = barrier.generation.load();
  if (barrier.arrived.fetch_add(1) + 1 == barrier.parties) {
    barrier.arrived.store(0);
    barrier.generation.store(generation + 1);
    if (barrier.sleepers.load() > 0) {
      wake_all(barrier.generation);
    }
    return !is_given_up();
  }
  for (std::size_t turn = 0; barrier.generation.load() == generation; ++turn) {
    if (is_given_up()) {
      return false;
    }
    if (turn < kTurnsBeforeSleep) {
      wait_a_little(turn);
    } else {
      barrier.sleepers.fetch_add(1);
      sleep_while(barrier.generation, generation);
      barrier.sleepers.fetch_sub(1);
    }
  }
  // Behind what this process's own threads did before they arrived, too: a checker of races sees no other process.
  static_cast<void>(barrier.arrived.load());
  return !is_given_up();
}

}  // namespace ferry::litmus_run
