// FindingLog: the findings of one world: counted, put into words with what happened last, collected or made the end of
// the run. Sits before the world's TraceSink for that. Internal to World.
//
// Owner: the World. One thread.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include <ferry/sim/findings.hpp>
#include <ferry/sim/trace.hpp>

namespace ferry::sim {

class World;

class FindingLog final : public TraceSink {
 public:
  static constexpr std::size_t kKept = 16;  // findings in words; later ones are only counted

  // expected: kinds that are none. next: who else is told what happens; null: nobody.
  FindingLog(World& world, FindingMode mode, std::vector<FindingKind> expected, TraceSink* next);

  // Called with the beginning of each step, before what it is told of changes.
  void before_step(std::function<void()> call) { before_step_ = std::move(call); }

  // These bytes may be raced for: no finding that is about them alone.
  void expect(const std::byte* at, std::uint64_t length) { expected_bytes_.push_back({at, length}); }

  // bytes: which it is about; null: none that could be excused. what: one line. Whom it concerns are in the excerpt.
  void add(FindingKind kind, const std::byte* bytes, std::uint64_t length, const std::string& what,
           std::initializer_list<ProcessNumber> whom);

  void on_step(const TracedStep& step) override;
  void on_event(const TracedEvent& event) override;

  // The step that runs, or has run last.
  StepKind kind() const noexcept { return step_.kind; }
  ProcessNumber process() const noexcept { return step_.process; }
  std::uint64_t step() const noexcept { return step_.index; }
  TimePoint at() const noexcept { return step_.at; }

  const std::vector<std::string>& texts() const noexcept { return texts_; }
  const std::map<std::string, std::uint64_t>& counts() const noexcept { return counts_; }

 private:
  struct Bytes {
    const std::byte* at;
    std::uint64_t length;
  };

  bool is_expected(FindingKind kind, const std::byte* bytes, std::uint64_t length) const noexcept;
  std::string excerpt(std::initializer_list<ProcessNumber> whom) const;

  World& world_;
  const FindingMode mode_;
  const std::vector<FindingKind> expected_kinds_;
  TraceSink* const next_;
  std::function<void()> before_step_;
  std::vector<Bytes> expected_bytes_;
  Trace recent_;
  TracedStep step_{};
  std::vector<std::string> texts_;
  std::map<std::string, std::uint64_t> counts_;
};

}  // namespace ferry::sim
