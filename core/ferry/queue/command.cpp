#include <ferry/queue/command.hpp>

#include <fmt/format.h>

namespace ferry::queue {

wire::Bytes encode(const Command& command) {
  wire::Bytes bytes;
  wire::Writer writer(bytes);
  writer.u8(static_cast<std::uint8_t>(command.kind));
  if (command.kind == CommandKind::mark) {
    writer.u32(command.mark);
    return bytes;
  }
  if (command.kind == CommandKind::atomic) {
    encode_atomic(writer, command.atomic);
    return bytes;
  }
  writer.u64(command.id);
  writer.u64(command.sequence);
  encode_handle(writer, command.region);
  writer.u8(command.notifies ? 1 : 0);
  writer.u64(command.tag);
  writer.u8(static_cast<std::uint8_t>(command.ranges));
  for (std::size_t index = 0; index < command.ranges; ++index) {
    writer.u64(command.range[index].offset);
    writer.u64(command.range[index].length);
  }
  return bytes;
}

Result<Command> decode_command(wire::ByteView bytes) {
  wire::Reader reader(bytes);
  Command command;
  const std::uint8_t kind = reader.u8();
  if (kind < static_cast<std::uint8_t>(CommandKind::mark) || kind > static_cast<std::uint8_t>(CommandKind::atomic)) {
    return Failure(errc::malformed, fmt::format("command: kind {} is unknown", kind));
  }
  command.kind = static_cast<CommandKind>(kind);
  if (command.kind == CommandKind::mark) {
    command.mark = reader.u32();
    if (auto complete = reader.finish("mark"); !complete) {
      return complete.error();
    }
    return command;
  }
  if (command.kind == CommandKind::atomic) {
    auto atomic = read_atomic(reader);
    if (!atomic) {
      return atomic.error();
    }
    command.atomic = *atomic;
    command.id = atomic->id;
    command.sequence = atomic->sequence;
    command.region = atomic->region;
    return command;
  }
  command.id = reader.u64();
  command.sequence = reader.u64();
  command.region = read_handle(reader);
  command.notifies = reader.u8() != 0;
  command.tag = reader.u64();
  command.ranges = reader.u8();
  if (command.ranges > kCommandRanges) {
    return Failure(errc::malformed, fmt::format("command: at most {} ranges, not {}", kCommandRanges, command.ranges));
  }
  std::uint64_t sum = 0;
  for (std::size_t index = 0; index < command.ranges; ++index) {
    CommandRange& range = command.range[index];
    range.offset = reader.u64();
    range.length = reader.u64();
    if (range.length > limits::kSmallBytes - sum) {
      return Failure(errc::malformed, fmt::format("command: more than {} bytes", limits::kSmallBytes));
    }
    sum += range.length;
  }
  if (command.kind == CommandKind::write) {
    command.data = reader.raw(static_cast<std::size_t>(sum));
  }
  if (auto complete = reader.finish("command"); !complete) {
    return complete.error();
  }
  return command;
}

}  // namespace ferry::queue
