#include <ferry/sim/depth_first.hpp>

#include <algorithm>

namespace ferry::sim {

DepthFirst::DepthFirst(const ExhaustiveOptions& options) : reduce_(options.reduce), kinds_(options.kinds) {}

void DepthFirst::begin() {
  depth_ = 0;
  sleep_.clear();
  effects_ = nullptr;
  is_redundant_ = false;
}

bool DepthFirst::is_enumerated(ChoiceKind kind) const noexcept {
  return std::find(kinds_.begin(), kinds_.end(), kind) != kinds_.end();
}

bool DepthFirst::has(const std::vector<Transition>& list, const Transition& one) noexcept {
  return std::any_of(list.begin(), list.end(), [&one](const Transition& other) { return other.is(one); });
}

// Steps of one process concern each other, but for two that only read its memory; so do those of one operation or
// channel, wherever they are, and the world's own concern all.
bool DepthFirst::concern_each_other(const Effect& a, const Effect& b) noexcept {
  if (!a.process || !b.process) {
    return true;
  }
  const bool both_read = a.kind == StepKind::sample && b.kind == StepKind::sample;
  if (a.process == b.process) {
    return !both_read || a.number == b.number;
  }
  return a.number != 0 && a.number == b.number && is_told(a.kind) && is_told(b.kind) && a.kind != StepKind::lifecycle &&
         b.kind != StepKind::lifecycle;
}

std::vector<DepthFirst::Transition> DepthFirst::transitions(const Question& question) {
  std::vector<Transition> able;
  std::map<Lane, std::size_t> counts;
  for (const Lane lane : question.lanes) {
    able.push_back({lane, counts[lane]++, {}});
  }
  return able;
}

// To the next answer that need not sleep. False: there is none.
bool DepthFirst::advance(Point& point) const noexcept {
  while (++point.chosen < point.n) {
    if (point.able.empty() || !reduce_ || !has(point.sleep, point.able[point.chosen])) {
      return true;
    }
  }
  return false;
}

bool DepthFirst::next() {
  while (!path_.empty()) {
    Point& point = path_.back();
    if (reduce_ && !point.able.empty()) {
      point.sleep.push_back(point.able[point.chosen]);
    }
    if (advance(point)) {
      return true;
    }
    path_.pop_back();
  }
  return false;
}

std::uint64_t DepthFirst::choose(const Question& question) noexcept {
  if (is_redundant_) {
    return kGiveUp;
  }
  if (!is_enumerated(question.kind)) {
    ++answered_zero_[std::string(to_string(question.kind))];
    return 0;
  }
  const bool is_next = question.kind == ChoiceKind::next && !question.lanes.empty();
  if (is_next) {
    effects_ = nullptr;
  }
  if (depth_ == path_.size()) {
    Point point{question.kind, question.n, 0, is_next ? transitions(question) : std::vector<Transition>(), sleep_};
    if (is_next && reduce_ && has(point.sleep, point.able[0]) && !advance(point)) {
      is_redundant_ = true;
      return kGiveUp;
    }
    path_.push_back(std::move(point));
  }
  Point& point = path_[depth_++];
  if (point.kind != question.kind || point.n != question.n) {
    has_strayed_ = is_redundant_ = true;
    return kGiveUp;
  }
  if (is_next) {
    sleep_ = point.sleep;
    effects_ = &point.able[point.chosen].effects;
    effects_->clear();
  }
  return point.chosen;
}

void DepthFirst::only(Lane lane) noexcept {
  effects_ = nullptr;
  is_redundant_ = is_redundant_ || has(sleep_, {lane, 0, {}});
}

void DepthFirst::on_step(const TracedStep& step) {
  const Effect effect{step.process, step.kind, step.number};
  if (effects_ != nullptr) {
    effects_->push_back(effect);
  }
  std::erase_if(sleep_, [&effect](const Transition& asleep) {
    return std::any_of(asleep.effects.begin(), asleep.effects.end(),
                       [&effect](const Effect& other) { return concern_each_other(effect, other); });
  });
}

}  // namespace ferry::sim
