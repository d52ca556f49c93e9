// SortedEntries: the entries of an unordered container in the order of their encoded keys, byte by byte (the rule of
// RFC 8949, section 4.2.1), so that equal containers give equal bytes whatever their hash tables look like.
//
// A scratch object for one encoding; allocates.
#pragma once

#include <cstddef>
#include <vector>

#include <ferry/wire/bytes.hpp>
#include <ferry/wire/encoder.hpp>

namespace ferry::wire {

class SortedEntries {
 public:
  Encoder& encoder() noexcept { return encoder_; }

  // Around each entry: begin(), encode the key, key_done(), encode the value if there is one.
  void begin() { entries_.push_back({bytes_.size(), 0}); }
  void key_done() { entries_.back().key_end = bytes_.size(); }

  // Sorts and appends all entries.
  void move_to(Encoder& out);

 private:
  struct Entry {
    std::size_t begin;
    std::size_t key_end;
  };

  Bytes bytes_;
  Encoder encoder_{bytes_};
  std::vector<Entry> entries_;
};

}  // namespace ferry::wire
