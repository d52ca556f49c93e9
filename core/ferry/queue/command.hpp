// Command: what a Send on a lane asks of the owner's CPU, behind the hardware writes before it on that lane.
//
// Encoded into a Send of at most kCommandBytes; the format is in README.md. Decoding believes nothing.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include <ferry/base/result.hpp>
#include <ferry/queue/control_protocol.hpp>
#include <ferry/queue/queue_limits.hpp>

namespace ferry::queue {

enum class CommandKind : std::uint8_t {
  mark = 1,    // says by its arrival that what was posted before is in memory (iwarp)
  notify = 2,  // gives a tag to a region's stream
  write = 3,
  read = 4,
  atomic = 5,
};

struct CommandRange {
  std::uint64_t offset = 0;  // of the region
  std::uint64_t length = 0;
};

struct Command {
  CommandKind kind{};
  std::uint32_t mark = 0;
  std::uint64_t id = 0;        // of the operation; comes back in the answer
  std::uint64_t sequence = 0;  // 0: none
  RegionHandle region{};
  bool notifies = false;  // write: gives `tag` to the region's stream afterwards
  std::uint64_t tag = 0;
  std::size_t ranges = 0;  // of `range` in use; their bytes are at most limits::kSmallBytes
  std::array<CommandRange, kCommandRanges> range{};
  wire::ByteView data;  // write: of all ranges, without gaps; a view into what was decoded
  AtomicRequest atomic{};

  std::uint64_t bytes() const noexcept {
    std::uint64_t sum = 0;
    for (std::size_t index = 0; index < ranges; ++index) {
      sum += range[index].length;
    }
    return sum;
  }
};

// The bytes of a write stand behind what is returned here, for the caller to add: `command.data` is not looked at.
wire::Bytes encode(const Command& command);
Result<Command> decode_command(wire::ByteView bytes);

}  // namespace ferry::queue
