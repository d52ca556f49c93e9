// Swarm: the faults that a world draws for itself: of those allowed, which there are and how often they strike. One
// world in five has none. WorldAdversity is the part of it that core asks; marks are counted there.
//
// Every draw is a choice, so that a failure's choices hold its faults, and making it small leaves them out. Crashes
// strike processes other than the first one, and hosts other than its; what the world started is restarted after a
// while, children are left to their parents. At most kStrikes crashes and pauses each, so that a world can end.
// Owner: the World. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ferry/base/adversity.hpp>
#include <ferry/sim/faults.hpp>
#include <ferry/sim/ids.hpp>
#include <ferry/sim/step.hpp>

namespace ferry::sim {

class Process;
class World;

class Swarm {
 public:
  static constexpr std::size_t kStrikes = 8;
  static constexpr std::uint64_t kNumbers = std::uint64_t{1} << 32;  // its steps are plans with numbers above

  Swarm(World& world, Faults allowed);
  ~Swarm();
  Swarm(const Swarm&) = delete;
  Swarm& operator=(const Swarm&) = delete;

  // Draws; before the first step.
  void begin();
  void stop() noexcept;

  // Of this world, as drawn.
  Faults faults() const noexcept { return drawn_; }
  // Whether a fault of the kind strikes now. A mean of once in 256, 64 or 16 times, as drawn.
  bool strikes(Fault fault, std::uint64_t subject) noexcept;
  bool refuses_spawn() noexcept;
  // A process begins: its clock.
  void begins(Process& process);

 private:
  // What strikes at moments of its own, or ends.
  struct Event : Step {
    Event(Swarm* owner, std::size_t number_given) noexcept : Step(&Swarm::happen), swarm(owner), number(number_given) {}
    Swarm* swarm;
    std::size_t number;
    std::function<void()> what{};
  };

  static void happen(Step& step) noexcept;
  Event& add_event();
  void strike_later(Event& event, Fault fault, std::size_t left);
  void crash_one();
  void pause_one();
  void part_two();
  std::optional<std::size_t> victim(Fault fault, std::size_t candidates) noexcept;
  Duration moment(std::uint64_t subject) noexcept;
  void after(Fault fault, std::function<void()> what);

  World& world_;
  const Faults allowed_;
  Faults drawn_;
  std::array<std::uint64_t, kFaults> levels_{};  // 1 seldom … 3 often, of those drawn
  Duration scale_{};                             // of the time between faults
  std::vector<std::unique_ptr<Event>> events_;
};

class WorldAdversity final : public Adversity {
 public:
  explicit WorldAdversity(World& world) noexcept : world_(world) {}

  bool strikes(Strike strike) noexcept override;
  bool buggify(std::string_view name) noexcept override;
  void mark(std::string_view name, bool reached) noexcept override;

  // How often each was reached.
  const std::map<std::string, std::uint64_t, std::less<>>& marks() const noexcept { return marks_; }

 private:
  World& world_;
  std::map<std::string, std::uint64_t, std::less<>> marks_;
  std::map<std::string, bool, std::less<>> unusual_;  // the names of buggify that are on in this world
};

}  // namespace ferry::sim
