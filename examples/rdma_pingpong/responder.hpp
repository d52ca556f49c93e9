// Responder: the process at the other end: owns the memory that operations reach, and checks it when asked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <ferry/ferry.hpp>

#include "slots.hpp"

namespace rdma_pingpong {

// What the words of an array of counters hold.
struct Words {
  std::uint64_t sum = 0;
  std::uint64_t least = 0;
  std::uint64_t most = 0;
};

class Responder : public ferry::Actor {
 public:
  explicit Responder(ferry::ActorContext& context) : context_(context) {}

  // Makes new memory in place of what was there, zero; a reference to all of it, guards included.
  ferry::BufferRef prepare(std::uint64_t slots, std::uint64_t bytes);

  std::vector<std::byte> echo(std::vector<std::byte> bytes) { return bytes; }

  // See Slots.
  void fill(std::uint64_t seed) { memory_.fill(seed); }
  std::string check(std::uint64_t seed, std::uint64_t first_slots) { return memory_.check(seed, first_slots); }
  std::string check_guards() { return memory_.check_guards(); }
  Words words();

  static constexpr auto endpoints = ferry::endpoints<&Responder::prepare, &Responder::echo, &Responder::fill,
                                                     &Responder::check, &Responder::check_guards, &Responder::words>;

 private:
  ferry::ActorContext& context_;
  Slots memory_;
  ferry::RDMABuffer buffer_;  // behind memory_: revoked before the memory is freed
};

}  // namespace rdma_pingpong
