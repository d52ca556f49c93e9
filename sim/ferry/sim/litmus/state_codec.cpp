#include <ferry/sim/litmus/state_codec.hpp>

namespace ferry::sim::litmus {
namespace {

// Counts and indices take a byte (limits.hpp), values seven bits a byte.
class Encoder {
 public:
  explicit Encoder(std::string& bytes) : bytes_(bytes) {}

  void byte(std::size_t number) { bytes_.push_back(static_cast<char>(number)); }

  void value(Value number) {
    for (; number >= 0x80; number >>= 7) {
      byte((number & 0x7f) | 0x80);
    }
    byte(number);
  }

  void size(std::size_t number) { value(number); }

 private:
  std::string& bytes_;
};

class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : at_(bytes.data()) {}

  std::uint8_t byte() { return static_cast<std::uint8_t>(*at_++); }

  Value value() {
    Value number = 0;
    for (int shift = 0;; shift += 7) {
      const std::uint8_t next = byte();
      number |= static_cast<Value>(next & 0x7f) << shift;
      if (next < 0x80) {
        return number;
      }
    }
  }

  std::size_t size() { return static_cast<std::size_t>(value()); }

 private:
  const char* at_;
};

void encode_entries(Encoder& out, const std::vector<WriteBack>& entries) {
  out.size(entries.size());
  for (const WriteBack& entry : entries) {
    out.byte(entry.is_completion ? 1 : 0);
    if (!entry.is_completion) {
      out.byte(entry.location);
      out.value(entry.value);
    }
  }
}

void decode_entries(Decoder& in, std::vector<WriteBack>& entries) {
  entries.resize(in.size());
  for (WriteBack& entry : entries) {
    entry = {in.byte() != 0, 0, 0};
    if (!entry.is_completion) {
      entry.location = in.byte();
      entry.value = in.value();
    }
  }
}

// Only operations under way have chunks to tell of; of a buffered one, inline data alone.
void encode_chunks(Encoder& out, const State& state, const Operation& operation) {
  for (std::size_t chunk = 0; chunk < operation.chunks.size(); ++chunk) {
    const auto [stage, value] = state.chunks[operation.first_chunk + chunk];
    out.byte(stage);
    if (stage > 0) {
      out.value(value);
    }
  }
}

void decode_chunks(Decoder& in, State& state, const Operation& operation) {
  for (std::size_t chunk = 0; chunk < operation.chunks.size(); ++chunk) {
    ChunkState& its = state.chunks[operation.first_chunk + chunk];
    its.stage = in.byte();
    its.value = its.stage > 0 ? in.value() : 0;
  }
}

}  // namespace

void encode(const Program& program, const State& state, std::string& bytes) {
  bytes.clear();
  Encoder out(bytes);
  for (const Value value : state.memory) {
    out.value(value);
  }
  for (const Value value : state.registers) {
    out.value(value);
  }
  for (const ThreadState& thread : state.threads) {
    out.byte(thread.next);
    out.size(thread.buffer.size());
    for (const BufferEntry& entry : thread.buffer) {
      out.byte(entry.is_operation ? 1 : 0);
      out.byte(entry.index);
      if (!entry.is_operation) {
        out.value(entry.value);
      } else if (program.operations[entry.index].is_inline) {
        encode_chunks(out, state, program.operations[entry.index]);
      }
    }
  }
  for (const QueueState& queue : state.queues) {
    out.size(queue.list.size());
    for (const InFlight& flight : queue.list) {
      out.byte(flight.operation);
      out.byte(flight.is_immediate_emitted ? 1 : 0);
      encode_chunks(out, state, program.operations[flight.operation]);
    }
    encode_entries(out, queue.to_local);
    encode_entries(out, queue.to_remote);
    out.byte(queue.completions);
    out.byte(queue.receive_completions);
  }
}

void decode(const Program& program, std::string_view bytes, State& state) {
  Decoder in(bytes);
  state.memory.resize(program.locations.size());
  for (Value& value : state.memory) {
    value = in.value();
  }
  state.registers.resize(program.registers.size());
  for (Value& value : state.registers) {
    value = in.value();
  }
  state.chunks.assign(program.chunks(), {});
  state.threads.resize(program.threads.size());
  for (ThreadState& thread : state.threads) {
    thread.next = in.byte();
    thread.buffer.resize(in.size());
    for (BufferEntry& entry : thread.buffer) {
      entry.is_operation = in.byte() != 0;
      entry.index = in.byte();
      entry.value = entry.is_operation ? 0 : in.value();
      if (entry.is_operation && program.operations[entry.index].is_inline) {
        decode_chunks(in, state, program.operations[entry.index]);
      }
    }
  }
  state.queues.resize(program.queues.size());
  for (QueueState& queue : state.queues) {
    queue.list.resize(in.size());
    for (InFlight& flight : queue.list) {
      flight.operation = in.byte();
      flight.is_immediate_emitted = in.byte() != 0;
      decode_chunks(in, state, program.operations[flight.operation]);
    }
    decode_entries(in, queue.to_local);
    decode_entries(in, queue.to_remote);
    queue.completions = in.byte();
    queue.receive_completions = in.byte();
  }
}

}  // namespace ferry::sim::litmus
