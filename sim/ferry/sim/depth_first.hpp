// DepthFirst: the answers of one world after the other, so that all of them together are every order, but for those
// that differ only in steps that do not concern each other. Internal to explore_all().
//
// It sees which steps are taken as a trace's sink. Owner: explore_all(). One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <ferry/sim/choices.hpp>
#include <ferry/sim/exhaustive.hpp>
#include <ferry/sim/trace.hpp>

namespace ferry::sim {

class DepthFirst final : public ChoiceSource, public TraceSink {
 public:
  explicit DepthFirst(const ExhaustiveOptions& options);

  // Before each world.
  void begin();
  // After it: whether there is another one to run.
  bool next();

  // Of the world that was run: its order was that of an earlier one.
  bool is_redundant() const noexcept { return is_redundant_; }
  // It did not ask what it asked before.
  bool has_strayed() const noexcept { return has_strayed_; }
  const std::map<std::string, std::uint64_t>& answered_zero() const noexcept { return answered_zero_; }

  std::uint64_t choose(const Question& question) noexcept override;
  void only(Lane lane) noexcept override;
  void on_step(const TracedStep& step) override;
  void on_event(const TracedEvent&) override {}

 private:
  struct Effect {
    ProcessNumber process{};
    StepKind kind{};
    std::uint64_t number = 0;
  };
  // One that can be next: the position-th of its lane, which it stays until a step of its process is taken.
  struct Transition {
    Lane lane = 0;
    std::size_t position = 0;
    std::vector<Effect> effects{};  // what it did where it was taken
    bool is(const Transition& other) const noexcept { return lane == other.lane && position == other.position; }
  };
  struct Point {
    ChoiceKind kind{};
    std::uint64_t n = 0;
    std::uint64_t chosen = 0;
    std::vector<Transition> able{};   // of kind next: by answer
    std::vector<Transition> sleep{};  // need not be taken from here: another world has, in another order
  };

  static bool concern_each_other(const Effect& a, const Effect& b) noexcept;
  static std::vector<Transition> transitions(const Question& question);
  static bool has(const std::vector<Transition>& list, const Transition& one) noexcept;
  bool is_enumerated(ChoiceKind kind) const noexcept;
  bool advance(Point& point) const noexcept;

  const bool reduce_;
  std::vector<ChoiceKind> kinds_;
  std::map<std::string, std::uint64_t> answered_zero_;
  std::vector<Point> path_;
  std::size_t depth_ = 0;                   // of the points that this world has come by
  std::vector<Transition> sleep_;           // at present
  std::vector<Effect>* effects_ = nullptr;  // of the transition that is being taken, if it was chosen
  bool is_redundant_ = false;
  bool has_strayed_ = false;
};

}  // namespace ferry::sim
