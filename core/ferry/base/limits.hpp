// Limits: every bound of a queue, table or retry in ferry, by name, and the relations between them.
//
// Defaults; those that a user may change are fields of NodeOptions. Sizes in bytes, counts in pieces.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include <ferry/base/time.hpp>

namespace ferry::limits {

using namespace std::chrono_literals;

// Messages.
inline constexpr std::size_t kFrameBytes = std::size_t{16} << 20;     // a message, header included
inline constexpr std::size_t kWindowMessages = 512;                   // untaken, from one process to one actor
inline constexpr std::size_t kWindowBytes = std::size_t{16} << 20;    // same
inline constexpr std::size_t kExceptionText = std::size_t{64} << 10;  // of an endpoint's exception in a reply
inline constexpr std::size_t kCreditMessages = kWindowMessages / 2;   // taken, and not yet told to the sender, at most
inline constexpr std::size_t kCreditBytes = kWindowBytes / 4;         // same; below it any message may be sent
static_assert(kFrameBytes <= kWindowBytes, "one message of the greatest size fits the window");
static_assert(kCreditMessages < kWindowMessages && kCreditBytes < kWindowBytes,
              "what the owner keeps to itself must not fill the window: nobody would move again");

// One-sided operations.
inline constexpr std::uint64_t kMaxLength = std::uint64_t{1} << 63;  // of an operation
inline constexpr std::size_t kPieceBytes = std::size_t{1} << 20;     // posted, copied or pinned at once
inline constexpr std::size_t kWindowPieces = 16;                     // of one channel, in flight
inline constexpr std::size_t kSmallBytes = 4096;     // an operation up to here is small: it need not wait behind bulk
inline constexpr std::size_t kChunks = 65536;        // in one chunk list
inline constexpr std::size_t kNotifications = 4096;  // untaken, per buffer

// Memory.
inline constexpr std::size_t kRegions = std::size_t{1} << 20;  // registered at one time in a process
inline constexpr std::size_t kReferenceBytes = 192;            // an encoded BufferRef at most

// Threads.
inline constexpr unsigned kExecutorThreads = 1024;  // of a node, which run actors

// Time.
inline constexpr Duration kNoProgress = 60s;       // one-sided operation, connect, spawn
inline constexpr Duration kQuietGrace = 100ms;     // for a peer to answer before a channel is torn down
inline constexpr Duration kHeartbeat = 1s;         // between heartbeats on an otherwise silent channel
inline constexpr Duration kFailureDetection = 5s;  // of silence until a peer is lost
inline constexpr Duration kHandshake = 5s;         // from accept to an authenticated peer
static_assert(kHeartbeat * 3 < kFailureDetection, "a lost heartbeat or two must not look like a lost peer");

}  // namespace ferry::limits
