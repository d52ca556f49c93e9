// CommandServer: the owner's side of commands: takes them in the order of submission and executes them on registered
// memory, under RegionTable's pins.
//
// Only the polling thread uses it. A command is claimed before it is looked at, so that its initiator either takes it
// back in time or gets an answer. What the initiator wrote may be anything.
#pragma once

#include <cstdint>

#include <ferry/base/result.hpp>
#include <ferry/memory/region_table.hpp>
#include <ferry/shm/channel_layout.hpp>

namespace ferry::shm {

class CommandServer {
 public:
  static constexpr int kAtOnce = 16;  // commands that one poll executes: at most 1 MiB

  CommandServer(ChannelLayout& layout, RegionTable& regions) noexcept : layout_(layout), regions_(regions) {}

  bool has_work() const noexcept;  // sequentially consistent

  // How many commands were executed; after any, the initiator may have to be woken. malformed: the channel has to end.
  Result<int> serve();

 private:
  bool execute(Command& command, std::uint64_t use);
  Result<std::uint64_t> perform(const CommandRequest& request);

  ChannelLayout& layout_;
  RegionTable& regions_;
  std::uint64_t taken_ = 0;
  std::uint64_t done_ = 0;
};

}  // namespace ferry::shm
