// Partner: the other process: owns the memory that is read and written, answers calls, and holds the other end of every
// comparison that ferry takes no part in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ferry/ferry.hpp>

#include "mapping.hpp"
#include "plain_socket.hpp"

namespace ferry_bench {

// Memory that neither ferry allocated nor malloc: always freshly mapped, whatever its size.
class OtherMemory {
 public:
  OtherMemory() = default;
  explicit OtherMemory(std::size_t bytes);
  OtherMemory(OtherMemory&& other) noexcept : memory_(std::exchange(other.memory_, {})) {}
  OtherMemory& operator=(OtherMemory&& other) noexcept {
    std::swap(memory_, other.memory_);
    return *this;
  }
  ~OtherMemory();
  std::span<std::byte> bytes() const noexcept { return memory_; }

 private:
  std::span<std::byte> memory_;
};

// One line of a cache, alone in it.
struct alignas(64) Line {
  std::uint64_t word = 0;
  std::uint64_t rest[7] = {};
};

class Partner : public ferry::Actor {
 public:
  explicit Partner(ferry::ActorContext& context) : context_(context) {}

  std::int32_t process();
  void keep_to_core(std::int32_t which);
  std::uint64_t allocations();

  // Memory of ferry::allocate, touched.
  ferry::BufferRef share(std::uint64_t bytes);
  // Any other memory, touched; its address.
  ferry::BufferRef register_other(std::uint64_t bytes);
  std::uint64_t other_address() { return reinterpret_cast<std::uint64_t>(other_.bytes().data()); }
  MappingName map(std::uint64_t bytes);

  // Words begin + 1, … begin + rounds: waits for each in its own line and writes it to `to`. The bare one does the same
  // in the first two lines of the mapping.
  ferry::BufferRef line();
  ferry::Task<void> pong(ferry::BufferRef to, std::uint64_t begin, std::uint64_t rounds);
  void bare_pong(std::uint64_t begin, std::uint64_t rounds);
  // Waits for the numbers 1 … rounds in the last word of what it shares, and writes as many bytes, transmitted, that
  // end in the same, to `to`.
  ferry::Task<void> bounce(ferry::BufferRef to, std::uint64_t rounds);

  // Listens; then serves one plain socket until it is closed.
  std::uint16_t listen();
  ferry::Task<void> serve(std::uint8_t wait, std::uint64_t bytes);

  std::uint64_t echo(std::uint64_t value) { return value; }

  static constexpr auto endpoints =
      ferry::endpoints<&Partner::process, &Partner::keep_to_core, &Partner::allocations, &Partner::share,
                       &Partner::register_other, &Partner::other_address, &Partner::map, &Partner::line, &Partner::pong,
                       &Partner::bare_pong, &Partner::bounce, &Partner::listen, &Partner::serve, &Partner::echo>;

 private:
  ferry::ActorContext& context_;
  Mapping mapping_;
  std::optional<PlainSocket> listener_;
  ferry::vector<Line> shared_;
  ferry::vector<Line> line_;
  OtherMemory other_;
  ferry::RDMABuffer shared_buffer_;  // behind the memory: revoked before it is freed
  ferry::RDMABuffer line_buffer_;
  ferry::RDMABuffer other_buffer_;
};

using PartnerRef = ferry::ActorRef<Partner>;

// A process of its own with a Partner in it. From then on each of the two processes keeps to a core of its own.
ferry::Task<PartnerRef> spawn_partner(ferry::Context context);

}  // namespace ferry_bench
