// Packet: what travels between two queue pairs; one chunk of a request, or an answer. Pooled by the network. Internal.
//
// Requests of a flow are numbered from 0 on by packet; an answer carries the number of the request that it answers.
#pragma once

#include <cstdint>

#include <ferry/queue/work.hpp>
#include <ferry/sim/ids.hpp>
#include <ferry/sim/step.hpp>
#include <ferry/wire/bytes.hpp>

namespace ferry::sim {

class Network;

struct PacketHeader {
  enum class Kind : std::uint8_t {
    request,             // see verb
    acknowledgement,     // of this request and all before it
    response,            // the bytes of a get, or the old value of an atomic
    out_of_sequence,     // this request was expected and another came
    receiver_not_ready,  // there is no receive for this request
    refusal,             // this request was refused; all before it are acknowledged
  };

  Kind kind{};
  queue::Verb verb{};
  bool is_first = false;  // of its message
  bool is_last = false;
  bool has_immediate = false;
  std::uint32_t immediate = 0;
  std::uint32_t invalidates = 0;
  QueueNumber from{};
  QueueNumber to{};
  std::uint64_t flow = 0;
  std::uint64_t sequence = 0;  // of the request in its flow
  std::uint64_t message = 0;   // which request of its queue pair
  queue::RemoteAddress remote{};
  std::uint64_t offset = 0;  // of the chunk in its message
  std::uint64_t length = 0;  // of the chunk
  std::uint64_t operand = 0;
  std::uint64_t expected = 0;
};

struct Packet : Step {
  Packet() noexcept;

  Network* network = nullptr;
  PacketHeader header{};
  wire::Bytes bytes;  // none of ghosts, whatever the length
};

}  // namespace ferry::sim
