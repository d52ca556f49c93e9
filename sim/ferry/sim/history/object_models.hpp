// The objects that programs share over one-sided operations, as SequentialModels: a register (also a counter, a flag, a
// versioned buffer: a register of several words), a lock, a bounded queue (a mailbox ring).
//
// One vocabulary of calls for all, so that a history file can name its model. Values; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ferry/sim/history/call.hpp>

namespace ferry::sim {

// A value: one integer, or the words of a buffer; none where a call gives nothing.
using Words = std::vector<std::int64_t>;

enum class Method : std::uint8_t {
  read,          // gives the value
  write,         // argument: the value; gives nothing
  swap,          // argument: the new value; gives the old
  fetch_add,     // argument: the addend, of one word; gives the old value; wraps
  compare_swap,  // expected, argument: the desired value; gives the old value, whether it was exchanged or not
  acquire,       // of a lock, which is free until then; gives nothing
  try_acquire,   // gives 1, or 0 where somebody holds it
  release,       // by its holder; gives nothing
  push,          // argument: the value; gives 1, or 0 where the queue is full
  pop,           // gives the oldest value; nothing where the queue is empty
};
std::string_view to_string(Method method) noexcept;

struct ObjectInput {
  Method method{};
  std::uint32_t caller = 0;  // who acquires and releases
  Words argument{};
  Words expected{};
};
using ObjectOutput = Words;
using ObjectCall = Call<ObjectInput, ObjectOutput>;

// What the three have in common.
class ObjectModel {
 public:
  using State = Words;
  using Input = ObjectInput;
  using Output = ObjectOutput;

  static std::uint64_t hash(const State& state) noexcept;
  static std::string json_of(const Words& words);  // an integer, a list of them, or null
  static std::string text(const Input& input, const Output* output);
};

// read, write, swap, fetch_add, compare_swap.
class RegisterModel : public ObjectModel {
 public:
  explicit RegisterModel(Words initial = {0}) : initial_(std::move(initial)) {}

  State initial() const { return initial_; }
  std::string to_json() const;  // the first line of a history file (README.md)
  bool apply(State& state, const Input& input, const Output* output) const;
  using ObjectModel::text;
  std::string text(const State& state) const;

 private:
  Words initial_;
};

// acquire, try_acquire, release.
class LockModel : public ObjectModel {
 public:
  State initial() const { return {}; }
  std::string to_json() const;
  bool apply(State& state, const Input& input, const Output* output) const;
  using ObjectModel::text;
  std::string text(const State& state) const;
};

// push, pop; of single integers.
class QueueModel : public ObjectModel {
 public:
  explicit QueueModel(std::size_t capacity = SIZE_MAX) : capacity_(capacity) {}

  State initial() const { return {}; }
  std::string to_json() const;
  bool apply(State& state, const Input& input, const Output* output) const;
  using ObjectModel::text;
  std::string text(const State& state) const;

 private:
  std::size_t capacity_;
};

static_assert(SequentialModel<RegisterModel> && SequentialModel<LockModel> && SequentialModel<QueueModel>);

}  // namespace ferry::sim
