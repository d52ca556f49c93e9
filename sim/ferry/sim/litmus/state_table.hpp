// StateTable: the distinct states of an exploration, by their encodings, numbered in the order in which they came.
//
// The encodings themselves are kept and compared: two states are never taken for one because their hashes agree. States
// lie in blocks that never move. One owner, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace ferry::sim::litmus {

using StateNumber = std::uint32_t;

inline constexpr std::size_t kMaxStates = 1'000'000'000;               // so that every number fits a StateNumber
inline constexpr std::size_t kMaxEncodedState = std::size_t{1} << 20;  // bytes, with the length before them

class StateTable {
 public:
  StateTable();

  // The number of the state, and whether it is new. At most kMaxStates states.
  std::pair<StateNumber, bool> insert(std::string_view encoding);

  std::string_view operator[](StateNumber number) const noexcept;  // valid as long as the table

  std::size_t size() const noexcept { return places_.size(); }
  std::size_t bytes() const noexcept;  // of memory that it takes

 private:
  struct Slot {
    std::uint32_t tag = 0;            // half of the hash: most comparisons end here
    StateNumber number_plus_one = 0;  // 0: empty
  };

  const char* place(std::string_view encoding);
  void grow();

  std::vector<std::unique_ptr<char[]>> blocks_;
  std::size_t used_ = 0;             // bytes of the last block
  std::vector<const char*> places_;  // by number: the length, then the encoding
  std::vector<Slot> slots_;          // open addressing; a power of two
};

}  // namespace ferry::sim::litmus
