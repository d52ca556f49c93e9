#include <ferry/sim/litmus/axioms/axioms.hpp>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>

namespace ferry::sim::litmus::axioms {
namespace {

enum class Side : std::uint8_t {
  any,     // whatever the locations
  local,   // only if both chunks have the same local location
  remote,  // the same remote location
};

enum class Phase : std::uint8_t { put_read, put_send, get_read, get_send, atomic_read, atomic_update, atomic_send };

// On one queue, the earlier operation's event precedes the later one's.
struct Preserved {
  Phase earlier;
  Phase later;
  Side side = Side::any;
};

using enum Phase;

constexpr std::initializer_list<Preserved> kStrict = {
    {put_read, put_read},          // local reads of puts in order
    {put_send, put_send},          // puts are placed in order
    {put_send, get_read},          // a get sees earlier puts
    {put_send, atomic_read},       // so does an atomic
    {atomic_update, put_send},     // puts, gets and atomics come after earlier atomics
    {atomic_update, get_read},     //
    {atomic_update, atomic_read},  //
    {get_send, get_send},          // results come back in order
    {get_send, atomic_send},       //
    {atomic_send, get_send},       //
    {atomic_send, atomic_send},    //
};

constexpr std::initializer_list<Preserved> kPortable = {
    {put_send, put_send, Side::remote},
    {put_send, get_read, Side::remote},
    {put_send, atomic_read, Side::remote},
    {atomic_update, put_send, Side::remote},
    {atomic_update, get_read},
    {atomic_update, atomic_read, Side::remote},
    {get_send, get_send, Side::local},
    {get_send, atomic_send, Side::local},
    {atomic_send, get_send, Side::local},
    {atomic_send, atomic_send, Side::local},
};

bool is_of(OperationKind kind, Phase phase) {
  switch (phase) {
    case put_read:
    case put_send:
      return kind == OperationKind::put;
    case get_read:
    case get_send:
      return kind == OperationKind::get;
    case atomic_read:
    case atomic_update:
    case atomic_send:
      break;
  }
  return is_atomic(kind);
}

// The event of a chunk in which it takes the phase, if it has one. A glob atomic reads and updates in one event.
std::optional<EventIndex> event_of(OperationKind kind, const ChunkEvents& chunk, Phase phase) {
  if (!is_of(kind, phase)) {
    return std::nullopt;
  }
  switch (phase) {
    case put_read:
    case get_read:
    case atomic_read:
      return chunk.read;
    case atomic_update:
      return chunk.update ? chunk.update : chunk.read;
    case put_send:
    case get_send:
    case atomic_send:
      break;
  }
  return chunk.send;
}

class Writer {
 public:
  Writer(const Program& program, const EventStructure& structure, ProfileName profile)
      : program_(program), structure_(structure), is_strict_(profile == ProfileName::strict) {}

  Axioms write(const Arrangement& arrangement) {
    out_.order = structure_.order;
    for (QueueIndex queue = 0; queue < program_.queues.size(); ++queue) {
      const QueueArrangement& its = arrangement[queue];
      for (std::size_t later = 0; later < its.posted.size(); ++later) {
        for (std::size_t earlier = 0; earlier < later; ++earlier) {
          order_operations(its.posted[earlier], its.posted[later]);
        }
      }
      order_immediates(its);
      order_polls(its);
      order_flights(structure_.to_local[queue]);
      order_flights(structure_.to_remote[queue]);
    }
    keep_reads_from_passing_writes();
    take_atomic_units();
    return std::move(out_);
  }

 private:
  void order(EventIndex before, EventIndex after) { out_.order.push_back({before, after}); }

  void order_operations(OperationIndex earlier, OperationIndex later) {
    const Operation& first = program_.operations[earlier];
    const Operation& second = program_.operations[later];
    const OperationEvents& one = structure_.operations[earlier];
    const OperationEvents& other = structure_.operations[later];
    order(one.post, other.post);
    order(one.retire, other.retire);
    order(one.completion_land, other.completion_land);
    for (std::size_t a = 0; a < one.chunks.size(); ++a) {
      for (std::size_t b = 0; b < other.chunks.size(); ++b) {
        for (const Preserved& rule : is_strict_ ? kStrict : kPortable) {
          const auto before = event_of(first.kind, one.chunks[a], rule.earlier);
          const auto after = event_of(second.kind, other.chunks[b], rule.later);
          if (before && after && agrees(first.chunks[a], second.chunks[b], rule.side)) {
            order(*before, *after);
          }
        }
        if (second.is_fenced && first.kind != OperationKind::put) {
          order(one.chunks[a].send, other.chunks[b].first());
        }
      }
      if (other.immediate && first.kind != OperationKind::get) {
        order(*event_of(first.kind, one.chunks[a], first.kind == OperationKind::put ? put_send : atomic_update),
              *other.immediate);
      }
    }
  }

  static bool agrees(const Chunk& one, const Chunk& other, Side side) {
    return side == Side::any || (side == Side::local ? one.local == other.local : one.remote == other.remote);
  }

  void order_immediates(const QueueArrangement& its) {
    for (std::size_t index = 1; index < its.immediates.size(); ++index) {
      const OperationEvents& one = structure_.operations[its.immediates[index - 1]];
      const OperationEvents& other = structure_.operations[its.immediates[index]];
      order(*one.immediate, *other.immediate);
      order(*one.immediate_land, *other.immediate_land);
    }
  }

  // The n-th poll comes after the n-th completion.
  void order_polls(const QueueArrangement& its) {
    out_.is_impossible =
        out_.is_impossible || its.polls.size() > its.posted.size() || its.receive_polls.size() > its.immediates.size();
    if (out_.is_impossible) {
      return;
    }
    for (std::size_t index = 0; index < its.polls.size(); ++index) {
      order(structure_.operations[its.posted[index]].completion_land, its.polls[index]);
      if (index > 0) {
        order(its.polls[index - 1], its.polls[index]);
      }
    }
    for (std::size_t index = 0; index < its.receive_polls.size(); ++index) {
      order(*structure_.operations[its.immediates[index]].immediate_land, its.receive_polls[index]);
      if (index > 0) {
        order(its.receive_polls[index - 1], its.receive_polls[index]);
      }
    }
  }

  // Two that fly to one memory land in the order in which they were sent; portable frees data for different locations.
  void order_flights(const std::vector<Flight>& flights) {
    for (std::size_t index = 0; index < flights.size(); ++index) {
      for (std::size_t before = 0; before < index; ++before) {
        const Flight& one = flights[before];
        const Flight& other = flights[index];
        if (is_strict_ || !one.location || !other.location || *one.location == *other.location) {
          out_.alternatives.push_back(
              {{{one.send, other.send}, {one.land, other.land}}, {{other.send, one.send}, {other.land, one.land}}});
        }
      }
    }
  }

  // A put's read of local memory, a get's or atomic's of remote memory: before the data on its way there is sent, or
  // after it has landed.
  void keep_reads_from_passing_writes() {
    for (OperationIndex index = 0; index < program_.operations.size(); ++index) {
      const Operation& operation = program_.operations[index];
      const bool is_put = operation.kind == OperationKind::put;
      const std::vector<Flight>& flights = (is_put ? structure_.to_local : structure_.to_remote)[operation.queue];
      for (std::size_t number = 0; number < operation.chunks.size(); ++number) {
        const Chunk& chunk = operation.chunks[number];
        const auto read = structure_.operations[index].chunks[number].read;
        for (const Flight& flight : flights) {
          if (read && flight.location && (is_strict_ || *flight.location == (is_put ? chunk.local : chunk.remote))) {
            out_.alternatives.push_back({{{*read, flight.send}}, {{flight.land, *read}}});
          }
        }
      }
    }
  }

  // Between the read and the update of an atomic no other of the same owner node reads.
  void take_atomic_units() {
    for (OperationIndex index = 0; index < program_.operations.size(); ++index) {
      for (OperationIndex before = 0; before < index; ++before) {
        const ChunkEvents& one = structure_.operations[before].chunks.front();
        const ChunkEvents& other = structure_.operations[index].chunks.front();
        if (one.update && other.update && owner_of(before) == owner_of(index)) {
          out_.alternatives.push_back({{{*one.update, *other.read}}, {{*other.update, *one.read}}});
        }
      }
    }
  }

  NodeIndex owner_of(OperationIndex operation) const {
    return program_.queues[program_.operations[operation].queue].to;
  }

  const Program& program_;
  const EventStructure& structure_;
  const bool is_strict_;
  Axioms out_;
};

}  // namespace

Axioms axioms_of(const Program& program, const EventStructure& structure, ProfileName profile,
                 const Arrangement& arrangement) {
  return Writer(program, structure, profile).write(arrangement);
}

}  // namespace ferry::sim::litmus::axioms
