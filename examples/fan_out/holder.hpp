// Holder: has the weights, or pulls them from another holder, piece by piece, and serves each piece on as soon as it
// has it. The server is a holder that had everything from the beginning; a worker is one that had nothing.
#pragma once

#include <cstdint>
#include <vector>

#include <ferry/ferry.hpp>

#include "weights.hpp"

namespace fan_out {

struct HolderOptions {
  std::uint64_t bytes = 0;  // of the weights
  std::uint64_t piece = 0;  // bytes; the last one may be shorter
  bool is_stored = false;   // or ghosts
  bool has_all = false;     // from the beginning
};

struct Source {
  ferry::BufferRef weights;
  bool has_all = false;
};

struct Pulled {
  std::int64_t at = 0;      // when the last piece was there, in nanoseconds of the world's clock
  std::uint64_t bytes = 0;  // of all pieces that came
  bool is_right = false;    // all are there, with the right contents
};

class Holder : public ferry::Actor {
 public:
  Holder(ferry::ActorContext& context, const HolderOptions& options);

  Source source() { return {buffer_.ref(ferry::Access::read), options_.has_all}; }
  // From whom pull() will. Connects.
  ferry::Task<void> follow(ferry::ActorRef<Holder> source);
  ferry::Task<Pulled> pull();
  // Ends when this holder has that piece.
  ferry::Task<void> have(std::uint64_t piece);

  std::uint64_t pieces() const noexcept { return pieces_; }  // that it has

  static constexpr auto endpoints = ferry::endpoints<&Holder::source, &Holder::follow, ferry::concurrent<&Holder::pull>,
                                                     ferry::concurrent<&Holder::have>>;

 private:
  struct Piece {
    bool is_here = false;
    std::vector<ferry::Channel<bool>> waiting;  // calls of have()
  };

  ferry::Task<void> pull_stripe(std::uint64_t first, std::uint64_t step);

  ferry::ActorContext& context_;
  const HolderOptions options_;
  Weights weights_;
  ferry::RDMABuffer buffer_;
  std::vector<Piece> all_;
  std::uint64_t pieces_ = 0;
  std::uint64_t bytes_ = 0;  // that it pulled
  ferry::ActorRef<Holder> followed_;
  Source source_;
};

}  // namespace fan_out
