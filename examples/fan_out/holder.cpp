#include "holder.hpp"

#include <algorithm>
#include <utility>

#include <ferry/base/task_group.hpp>

namespace fan_out {
namespace {

// Pieces of one holder under way at a time: what is asked for next hides the way of what comes.
constexpr std::uint64_t kStripes = 4;

}  // namespace

Holder::Holder(ferry::ActorContext& context, const HolderOptions& options)
    : context_(context),
      options_(options),
      weights_(options.bytes, options.is_stored),
      buffer_(context.register_memory(weights_.bytes())),
      all_((options.bytes + options.piece - 1) / options.piece) {
  if (options_.has_all) {
    weights_.generate();
    pieces_ = all_.size();
    for (Piece& piece : all_) {
      piece.is_here = true;
    }
  }
}

ferry::Task<void> Holder::follow(ferry::ActorRef<Holder> source) {
  followed_ = source;
  auto asking = source.call<&Holder::source>();
  source_ = co_await asking;
}

ferry::Task<Pulled> Holder::pull() {
  ferry::TaskGroup stripes;
  for (std::uint64_t first = 0; first < kStripes; ++first) {
    stripes.start(pull_stripe(first, kStripes));
  }
  co_await stripes.join();
  const ferry::TimePoint now = context_.node().executor().now();
  co_return Pulled{now.time_since_epoch().count(), bytes_, pieces_ == all_.size() && weights_.are_right()};
}

// Every step-th piece from the first on, one after the other.
ferry::Task<void> Holder::pull_stripe(std::uint64_t first, std::uint64_t step) {
  for (std::uint64_t piece = first; piece < all_.size(); piece += step) {
    if (!source_.has_all) {
      auto waiting = followed_.call<&Holder::have>(piece);
      co_await waiting;
    }
    const std::uint64_t offset = piece * options_.piece;
    const std::uint64_t length = std::min(options_.piece, options_.bytes - offset);
    auto reading = source_.weights.subrange(offset, length).read_into(weights_.bytes().subspan(offset, length));
    co_await reading;
    bytes_ += length;
    ++pieces_;
    all_[piece].is_here = true;
    for (auto& call : std::exchange(all_[piece].waiting, {})) {
      call.try_push(true);
    }
  }
}

ferry::Task<void> Holder::have(std::uint64_t piece) {
  if (!all_[piece].is_here) {
    ferry::Channel<bool> here(1);
    all_[piece].waiting.push_back(here);
    auto arriving = here.next();
    static_cast<void>(co_await arriving);
  }
}

}  // namespace fan_out
