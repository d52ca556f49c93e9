// ChannelLayout: the memory that the two ends of a channel share: a ring of messages each way, and the commands that
// the initiator asks the owner's polling thread to execute, with staging blocks for their bytes.
//
// Made by the initiator for this channel alone, mapped by both; its pages come as they are used. Either side may find
// anything in it: every number is read once and checked. Words that one side writes stand on cache lines of their own.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <ferry/shm/memory_file.hpp>

namespace ferry::shm {

inline constexpr std::size_t kRingBytes = std::size_t{256} << 10;    // a power of two
inline constexpr std::size_t kCommands = 64;                         // under way on a channel
inline constexpr std::size_t kSubmissions = 2 * kCommands;           // taken back ones leave their entry behind
inline constexpr std::size_t kStagingBytes = std::size_t{64} << 10;  // of a block, and so of a piece
inline constexpr std::size_t kStagingBlocks = 16;
static_assert((kRingBytes & (kRingBytes - 1)) == 0 && kStagingBlocks <= kCommands);

struct alignas(64) SharedWord {
  std::atomic<std::uint64_t> value{0};
};

// Positions count bytes for ever; their difference is what is in the ring.
struct RingWords {
  SharedWord written;  // by the writer
  SharedWord read;     // by the reader
  SharedWord waiting;  // the writer sets 1 when it waits for room; the reader clears it and rings
};

enum class CommandKind : std::uint8_t { read = 1, write = 2, fetch_add = 3, compare_swap = 4, swap = 5, notify = 6 };

// What the owner is asked to do. Plain bytes, copied out before they are looked at.
struct CommandRequest {
  CommandKind kind{};
  std::uint8_t reserved = 0;
  std::uint16_t block = 0;  // read, write: staging block
  std::uint32_t slot = 0;
  std::uint64_t generation = 0;
  std::uint64_t offset = 0;    // bytes from the start of the region
  std::uint64_t length = 0;    // read, write: bytes, at most kStagingBytes
  std::uint64_t operand = 0;   // atomics; notify: the tag
  std::uint64_t expected = 0;  // compare_swap
};

struct CommandAnswer {
  std::uint64_t value = 0;  // atomics: the old value
  std::uint8_t code = 0;    // an errc; 0: done
  std::uint8_t effect = 0;
  std::uint16_t text_length = 0;
  std::array<char, 176> text{};  // longer than any reason that an owner gives
};

// A command goes idle -> submitted -> executing -> done, and the initiator may take it back while it is submitted:
// submitted -> idle. Both sides claim by compare-and-swap on the state, whose upper bits number the use of the command,
// so that nothing old is executed and a cancelled command needs no answer, also from an owner that is stopped.
struct alignas(64) Command {
  static constexpr std::uint64_t kIdle = 0;
  static constexpr std::uint64_t kSubmitted = 1;
  static constexpr std::uint64_t kExecuting = 2;
  static constexpr std::uint64_t kDone = 3;
  static constexpr std::uint64_t state_of(std::uint64_t use, std::uint64_t phase) noexcept { return use << 2 | phase; }

  std::atomic<std::uint64_t> state{0};
  CommandRequest request{};  // the initiator writes it before `submitted`
  CommandAnswer answer{};    // the owner writes it before `done`
};
static_assert(sizeof(Command) == 256);

struct ChannelLayout {
  RingWords to_owner;
  RingWords to_initiator;
  SharedWord mail_to_owner;  // counts packets sent through the socket, so that who polls need not ask the kernel
  SharedWord mail_to_initiator;
  SharedWord submitted;  // entries of `submissions` ever written, by the initiator
  SharedWord taken;      // entries ever taken, by the owner
  SharedWord done;       // commands ever done, by the owner
  std::array<std::atomic<std::uint64_t>, kSubmissions> submissions;  // command index | use << 8
  std::array<Command, kCommands> commands;
  alignas(kPageBytes) std::array<std::array<std::byte, kRingBytes>, 2> rings;  // to the owner, to the initiator
  alignas(kPageBytes) std::array<std::array<std::byte, kStagingBytes>, kStagingBlocks> staging;
};
inline constexpr std::uint64_t kChannelBytes = sizeof(ChannelLayout);
static_assert(kChannelBytes % kPageBytes == 0);

inline ChannelLayout& channel_layout(const MemoryFile& file) noexcept {
  return *reinterpret_cast<ChannelLayout*>(file.data());
}

}  // namespace ferry::shm
