// Program: one litmus test as values: locations, queues, threads, what is asked and what is expected.
//
// Built by the parser (parser.hpp), or by hand in a test; then never changed. It holds no rule of the fabric and no
// state of a run: the machine (machine.hpp) and the axioms (axioms.hpp) share this type and nothing else. Everything
// refers to everything by index into the vectors of one Program. Values are unsigned 64-bit and wrap.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ferry/sim/litmus/condition.hpp>

namespace ferry::sim::litmus {

using Value = std::uint64_t;

// One index type for each of a Program's vectors.
using NodeIndex = std::uint8_t;
using LocationIndex = std::uint8_t;
using QueueIndex = std::uint8_t;
using ThreadIndex = std::uint8_t;
using RegisterIndex = std::uint8_t;   // registers of all threads together
using OperationIndex = std::uint8_t;  // remote operations of all threads together
using ChunkIndex = std::uint16_t;     // chunks of all operations together

struct Location {
  std::string name;  // "x" of "x@B"
  NodeIndex node = 0;
  Value initial = 0;
};

struct Queue {
  std::string name;
  NodeIndex from = 0;  // the initiator's node
  NodeIndex to = 0;    // the owner's; may be the same
};

struct Register {
  std::string name;
  ThreadIndex thread = 0;
};

// One location on each side; all chunks of an operation travel as one message.
struct Chunk {
  LocationIndex local = 0;
  LocationIndex remote = 0;
};

enum class OperationKind : std::uint8_t { put, get, fetch_add, compare_swap };

constexpr bool is_atomic(OperationKind kind) noexcept {
  return kind >= OperationKind::fetch_add;
}

// A remote operation; every instruction that posts one has its own, for no instruction runs twice.
struct Operation {
  OperationKind kind = OperationKind::put;
  bool is_fenced = false;
  bool has_immediate = false;  // put alone
  bool is_inline = false;      // put alone
  QueueIndex queue = 0;
  std::vector<Chunk> chunks;   // one or more; exactly one for an atomic
  ChunkIndex first_chunk = 0;  // the others follow it
  Value expected = 0;          // compare_swap: written only if the old value is this
  Value operand = 0;           // fetch_add: what is added; compare_swap: what is written
};

enum class Opcode : std::uint8_t {
  store,         // st location, source
  load,          // ld destination, location
  wait,          // wait location, source
  fence,         // mf
  compare_swap,  // cas destination, location, expected, operand
  fetch_add,     // faa destination, location, operand
  post,          // operation
  poll,          // queue
  receive_poll,  // queue
};

// What `st` writes and `wait` waits for: an integer, or a register that the thread has written before.
struct Source {
  std::optional<RegisterIndex> from_register;
  Value value = 0;  // where there is no register
};

struct Instruction {
  Opcode opcode = Opcode::fence;
  LocationIndex location = 0;
  RegisterIndex destination = 0;
  Source source;
  Value expected = 0;
  Value operand = 0;
  OperationIndex operation = 0;
  QueueIndex queue = 0;
};

struct Thread {
  std::string name;
  NodeIndex node = 0;
  std::vector<Instruction> instructions;
};

enum class AtomicScope : std::uint8_t {
  hca,   // remote atomics are atomic among themselves
  glob,  // against the owner's CPU too
};

enum class ProfileName : std::uint8_t {
  strict,     // in-order placement per queue
  portable,   // what the manual page promises
  relaxed,    // as portable; puts to the same bytes may change places across messages too
  unordered,  // as relaxed; gets may pass puts on the same bytes too
};
inline constexpr std::size_t kProfiles = 4;

enum class Verdict : std::uint8_t {
  allowed,    // at least one outcome satisfies the question
  forbidden,  // none does
};

std::string_view to_string(ProfileName profile) noexcept;
std::string_view to_string(Verdict verdict) noexcept;
std::optional<ProfileName> profile_from(std::string_view name) noexcept;
std::optional<Verdict> verdict_from(std::string_view name) noexcept;

struct Program {
  std::string name;
  std::string doc;  // one line; empty where the test has none
  AtomicScope atomics = AtomicScope::hca;
  std::vector<std::string> nodes;
  std::vector<Location> locations;  // in the order of their declaration
  std::vector<Queue> queues;
  std::vector<Thread> threads;
  std::vector<Register> registers;  // every one that some instruction writes: by thread, then in order of writing
  std::vector<Operation> operations;
  std::optional<Condition> question;
  std::array<std::optional<Verdict>, kProfiles> expected;  // by ProfileName; none where `expect` does not name it

  std::size_t chunks() const {  // of all operations
    return operations.empty() ? 0 : operations.back().first_chunk + operations.back().chunks.size();
  }

  std::optional<Verdict> expected_of(ProfileName profile) const { return expected[static_cast<std::size_t>(profile)]; }
};

// "x@B" and "A:r": the names that outcomes are written with.
std::string location_name(const Program& program, LocationIndex location);
std::string register_name(const Program& program, RegisterIndex register_index);

// The final state of a run.
struct Outcome {
  std::vector<Value> memory;     // by LocationIndex
  std::vector<Value> registers;  // by RegisterIndex

  friend auto operator<=>(const Outcome&, const Outcome&) = default;
};

// Whether the outcome, of a program with a question, satisfies the question.
bool satisfies(const Outcome& outcome, const Condition& question);

}  // namespace ferry::sim::litmus
