#include <ferry/sim/finding_log.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <ferry/sim/virtual_time.hpp>
#include <ferry/sim/world.hpp>

namespace ferry::sim {
namespace {

constexpr std::size_t kRecent = 256;       // steps and events that are kept for excerpts
constexpr std::size_t kExcerptLines = 10;  // of one finding, at most

}  // namespace

std::string_view to_string(FindingKind kind) noexcept {
  switch (kind) {
    case FindingKind::read_race:
      return "read race";
    case FindingKind::unordered_writes:
      return "unordered writes";
    case FindingKind::local_buffer:
      return "local buffer";
    case FindingKind::use_after_revoke:
      return "use after revoke";
    case FindingKind::missing_delivery:
      return "missing delivery";
  }
  return "finding";
}

FindingLog::FindingLog(World& world, FindingMode mode, std::vector<FindingKind> expected, TraceSink* next)
    : world_(world), mode_(mode), expected_kinds_(std::move(expected)), next_(next), recent_(kRecent) {}

void FindingLog::on_step(const TracedStep& step) {
  if (step.kind != StepKind::memory) {  // is a part of another one
    if (before_step_) {
      before_step_();
    }
    step_ = step;
  }
  if (is_told(step.kind)) {
    recent_.on_step(step);
  }
  if (next_ != nullptr) {
    next_->on_step(step);
  }
}

void FindingLog::on_event(const TracedEvent& event) {
  recent_.on_event(event);
  if (next_ != nullptr) {
    next_->on_event(event);
  }
}

bool FindingLog::is_expected(FindingKind kind, const std::byte* bytes, std::uint64_t length) const noexcept {
  const auto covers = [&](const Bytes& range) {
    return bytes != nullptr && range.at <= bytes && bytes + length <= range.at + range.length;
  };
  return std::find(expected_kinds_.begin(), expected_kinds_.end(), kind) != expected_kinds_.end() ||
         std::any_of(expected_bytes_.begin(), expected_bytes_.end(), covers);
}

void FindingLog::add(FindingKind kind, const std::byte* bytes, std::uint64_t length, const std::string& what,
                     std::initializer_list<ProcessNumber> whom) {
  if (is_expected(kind, bytes, length)) {
    return;
  }
  const std::string name(to_string(kind));
  ++counts_[name];
  if (texts_.size() == kKept) {
    return;
  }
  texts_.push_back(fmt::format("{}: at {} {}{}", name, seconds(step_.at.time_since_epoch()), what, excerpt(whom)));
  if (mode_ == FindingMode::fail) {
    world_.fail(texts_.back(), Outcome::finding);
  }
}

// The last lines that concern these processes, in order.
std::string FindingLog::excerpt(std::initializer_list<ProcessNumber> whom) const {
  const auto concerns = [&](ProcessNumber process) {
    return std::find(whom.begin(), whom.end(), process) != whom.end();
  };
  std::vector<std::string> lines;
  auto step = recent_.steps().rbegin();
  auto event = recent_.events().rbegin();
  while (lines.size() < kExcerptLines) {
    while (step != recent_.steps().rend() && !concerns(step->process)) {
      ++step;
    }
    while (event != recent_.events().rend() && !concerns(event->process)) {
      ++event;
    }
    const bool has_step = step != recent_.steps().rend();
    const bool has_event = event != recent_.events().rend();
    if (!has_step && !has_event) {
      break;
    }
    if (has_event && (!has_step || event->index >= step->index)) {
      lines.push_back(to_text(*event++, recent_.processes()));
    } else {
      lines.push_back(to_text(*step++, recent_.processes()));
    }
  }
  std::string text;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    text += "\n  " + *line;
  }
  return text;
}

}  // namespace ferry::sim
