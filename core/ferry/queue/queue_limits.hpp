// Bounds of the queue layer: of lanes, of what lies between both ends, and of how often something is tried.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ferry/base/limits.hpp>

namespace ferry::queue {

inline constexpr std::size_t kLanes = 2;         // of one connection: small operations, and bulk
inline constexpr std::size_t kRequests = 128;    // posted and not completed, of a lane
inline constexpr std::size_t kReceives = 16;     // posted at the owner, of a lane
inline constexpr std::size_t kSrdReceives = 64;  // same where every message takes one
inline constexpr std::size_t kSlots = 16;        // of staging, of a lane; for what is sent
inline constexpr std::size_t kKeyedSlots = 64;   // same where small operations need one, too
inline constexpr std::size_t kMarks = 2;         // posted and not answered, of a lane

inline constexpr std::size_t kSmallChunks = 64;                          // of an operation that is still small
inline constexpr std::size_t kCommandRanges = 16;                        // of a read or write that is a command
inline constexpr std::size_t kCommandBytes = limits::kSmallBytes + 512;  // of a Send
static_assert(kCommandBytes >= limits::kSmallBytes + 128 + kCommandRanges * 16, "every command fits a receive");

inline constexpr std::size_t kAtomics = 1024;          // sent to the owner's CPU and not acknowledged
inline constexpr std::size_t kOwnerLanes = 16;         // that an initiator has at one time, discarded ones excluded
inline constexpr std::size_t kFailedSequences = 1024;  // that an owner keeps for one initiator
inline constexpr std::size_t kOrphans = 1024;          // sessions without a link, until the oldest is forgotten
inline constexpr std::size_t kChecks = 1024;           // references that the owner is asked about after one refusal
inline constexpr std::uint32_t kRedrives = 16;         // of one operation none of whose bytes has moved meanwhile

inline constexpr std::uint64_t kFewMessages = 12;                   // both ways, for which a link needs no queue pair
inline constexpr std::size_t kMessageReceives = 16;                 // posted at each end of a queue pair for messages
inline constexpr std::size_t kReceiptReceives = 2;                  // of these, for receipts alone
inline constexpr std::size_t kLeastMessageReceives = 4;             // that the other end must have
inline constexpr std::size_t kMessageSlots = kMessageReceives + 4;  // of what is sent; unsignaled ones included
inline constexpr std::size_t kMessageSlotBytes = 4096;              // of a Send; longer messages take several
inline constexpr std::size_t kMessageSends = 4;     // of a message, at most: longer ones stay on the link beneath
inline constexpr std::uint64_t kSignaledEvery = 4;  // Sends, so that slots come back
inline constexpr std::uint32_t kMessageLives = 64;  // queue pairs of one link, one after the other

inline constexpr std::uint64_t kLeastPacket = 256;  // bytes of the shortest packets that devices use
inline constexpr std::size_t kAddressBytes = 64;    // of a queue pair
inline constexpr std::size_t kTextBytes = 512;      // of a failure on the wire
inline constexpr std::size_t kNameBytes = 256;      // of a process

}  // namespace ferry::queue
