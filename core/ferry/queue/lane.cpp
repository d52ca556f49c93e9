#include <ferry/queue/lane.hpp>

#include <algorithm>

#include <fmt/format.h>

namespace ferry::queue {

void Lane::begin(OrderClass order, std::size_t requests, std::size_t receives, bool owner_answers_marks) {
  order_ = order;
  owner_answers_marks_ = owner_answers_marks;
  first_ = next_number();
  ring_.clear();
  marks_.clear();
  requests_ = requests;
  receives_ = receives;
  out_ = 0;
  large_out_ = 0;
  is_cautious = false;
  receives_used_ = 0;
  receives_returned_ = 0;
  wanted_ = 0;
}

bool Lane::takes_receive(PostedRequest::Kind kind) const noexcept {
  switch (kind) {
    case PostedRequest::Kind::command:
      return true;
    case PostedRequest::Kind::mark:
      return owner_answers_marks_;
    case PostedRequest::Kind::put:
      return order_ == OrderClass::srd;
    default:
      return false;
  }
}

std::uint64_t Lane::add(const PostedRequest& request) {
  const std::uint64_t number = next_number();
  ring_.push_back(request);
  ++out_;
  large_out_ += request.is_large ? 1 : 0;
  receives_used_ += takes_receive(request.kind) ? 1U : 0U;
  if (request.is_transmitted) {
    last_transmitted_ = number;
  }
  return number;
}

PostedRequest* Lane::find(std::uint64_t number) noexcept {
  return number < first_ || number >= next_number() ? nullptr : &ring_[static_cast<std::size_t>(number - first_)];
}

void Lane::done(std::uint64_t number) noexcept {
  PostedRequest& request = *find(number);
  request.is_done = true;
  --out_;
  large_out_ -= request.is_large ? 1 : 0;
  drop_ended();
}

void Lane::confirmed(std::uint64_t number) noexcept {
  find(number)->is_confirmed = true;
  drop_ended();
}

void Lane::drop_ended() noexcept {
  const auto has_ended = [this](const PostedRequest& request) {
    if (!request.is_done || request.kind != PostedRequest::Kind::put) {
      return request.is_done;
    }
    return order_ == OrderClass::srd ? request.is_confirmed : order_ != OrderClass::iwarp || is_covered(first_);
  };
  while (!ring_.empty() && has_ended(ring_.front())) {
    ring_.pop_front();
    ++first_;
  }
}

bool Lane::wants_mark() const noexcept {
  const std::uint64_t under_way = marks_.empty() ? covered_ : marks_.back().number;
  return wanted_ > std::max(covered_, under_way) && marks_.size() < kMarks;
}

std::uint32_t Lane::add_mark() noexcept {
  const std::uint32_t mark = next_mark_++;
  marks_.push_back({mark, next_number()});
  return mark;
}

Result<void> Lane::mark_answered(std::uint32_t mark) {
  if (marks_.empty() || marks_.front().mark != mark) {
    return Failure(errc::malformed,
                   fmt::format("lane {}: the answer to mark {} was not the next one expected", id, mark));
  }
  cover(marks_.front().number);
  marks_.pop_front();
  return {};
}

Result<void> Lane::received(std::uint64_t count) {
  if (count < receives_returned_ || count > receives_used_) {
    return Failure(errc::malformed, fmt::format("lane {}: {} receives used, where {} to {} could be", id, count,
                                                receives_returned_, receives_used_));
  }
  receives_returned_ = count;
  return {};
}

bool Lane::has_unconfirmed_transmitted(std::uint64_t up_to) const noexcept {
  for (std::size_t index = 0; index < ring_.size() && first_ + index <= up_to; ++index) {
    if (ring_[index].is_transmitted && !ring_[index].is_confirmed) {
      return true;
    }
  }
  return false;
}

}  // namespace ferry::queue
