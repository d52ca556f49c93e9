// Arrival: one chunk of a request that has reached one end of a queue, on its way into memory or out of it. Internal.
//
// Pooled by the fabric; in one list of one ArrivalQueue at a time. It is also the step by which it goes on.
#pragma once

#include <cstddef>
#include <cstdint>

#include <boost/intrusive/list.hpp>

#include <ferry/queue/work.hpp>
#include <ferry/sim/step.hpp>
#include <ferry/wire/bytes.hpp>

namespace ferry::sim {

class ArrivalQueue;

struct Arrival : Step, boost::intrusive::list_base_hook<> {
  enum class Kind : std::uint8_t {
    write,       // bytes toward memory: of a put or send
    result,      // same, at the initiator: of a get or atomic
    read,        // bytes out of memory, for a get
    atomic,      // on a word
    completion,  // an entry of a completion queue, behind what came before it
    barrier,     // an answer, behind what came before it: of a flush
  };

  Arrival() noexcept;

  bool is_data() const noexcept { return kind == Kind::write || kind == Kind::result; }

  ArrivalQueue* queue = nullptr;
  Kind kind{};
  bool is_on_its_way = false;  // to memory
  bool has_unit = false;       // atomics: the word was read and is not written yet
  bool waits = false;          // for what came before it
  bool is_held = false;        // on purpose, until something waits for it
  std::uint64_t flow = 0;      // what has no order toward each other is of different flows
  std::uint64_t message = 0;   // which request; its chunks have no order
  std::uint64_t sequence = 0;  // of the packet, for the answer
  std::byte* at = nullptr;     // completion of a receive: where a send's bytes are
  std::uint64_t length = 0;
  std::uint64_t offset = 0;  // read: of `at` in what its key reaches
  wire::Bytes bytes;         // write, result: to be written, from `taken` on; read: so far; none of ghosts
  std::uint64_t taken = 0;   // bytes of it that are done

  queue::Verb verb{};  // atomics
  std::uint64_t operand = 0;
  std::uint64_t expected = 0;

  queue::WorkCompletion entry{};  // completion
  std::uint32_t invalidates = 0;  // completion of a receive: the key that is dead before it is seen; 0: none
};

}  // namespace ferry::sim
