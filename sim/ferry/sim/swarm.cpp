#include <ferry/sim/swarm.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <ferry/base/random.hpp>
#include <ferry/sim/process.hpp>
#include <ferry/sim/world.hpp>

namespace ferry::sim {
namespace {

constexpr std::uint64_t kWorlds = 100;  // subjects of choices about the whole world; those of faults are below
constexpr std::uint64_t kMoments = 16;
constexpr std::uint64_t kDrifts = 9;
constexpr std::array<std::int64_t, kDrifts> kDriftRows{0, 100, -100, 1'000, -1'000, 10'000, -10'000, 100'000, -100'000};
constexpr std::array<Duration, 6> kScales{std::chrono::milliseconds(1),   std::chrono::microseconds(10),
                                          std::chrono::microseconds(100), std::chrono::milliseconds(10),
                                          std::chrono::milliseconds(100), std::chrono::seconds(1)};

constexpr std::uint64_t kEnds = 50;  // added to a fault's subject: when it ends

constexpr std::uint64_t subject_of(Fault fault) noexcept {
  return static_cast<std::uint64_t>(fault) + 1;
}

// Of a name: the same in every binary.
std::uint64_t subject_of(std::string_view name) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char letter : name) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3ULL;
  }
  return mix64(hash) | std::uint64_t{1} << 32;  // apart from the faults'
}

}  // namespace

Swarm::Swarm(World& world, Faults allowed) : world_(world), allowed_(allowed) {}

Swarm::~Swarm() {
  stop();
}

void Swarm::stop() noexcept {
  drawn_ = {};
  for (const auto& event : events_) {
    world_.scheduler().withdraw(*event);
  }
}

// Whether it strikes at this moment, and whom of so many: one question, so that leaving one out moves no other.
std::optional<std::size_t> Swarm::victim(Fault fault, std::size_t candidates) noexcept {
  const std::uint64_t odds = 5 - levels_[static_cast<std::size_t>(fault)];
  const std::uint64_t chosen = world_.scheduler().choose(ChoiceKind::fault, 1 + candidates, subject_of(fault), odds);
  return chosen == 0 ? std::nullopt : std::optional<std::size_t>(chosen - 1);
}

void Swarm::begin() {
  Scheduler& scheduler = world_.scheduler();
  if (allowed_.is_empty() || scheduler.choose(ChoiceKind::swarm, 5, kWorlds) == 0) {
    return;
  }
  std::string names;
  for (std::size_t index = 0; index < kFaults; ++index) {
    const auto fault = static_cast<Fault>(index);
    if (!allowed_.has(fault)) {
      continue;
    }
    levels_[index] = scheduler.choose(ChoiceKind::swarm, 4, subject_of(fault), 2);
    if (levels_[index] == 0) {
      continue;
    }
    drawn_ = drawn_ | fault;
    names += fmt::format("{}{} ({} of 3)", names.empty() ? "" : ", ", to_string(fault), levels_[index]);
  }
  scale_ = kScales[scheduler.choose(ChoiceKind::swarm, kScales.size(), kWorlds + 1)];
  if (!names.empty()) {
    world_.faults().tell("the swarm of this world: " + names);
  }
  const auto one_in = [this](Fault fault) {
    const std::uint64_t level = levels_[static_cast<std::size_t>(fault)];
    return level == 0 ? 0 : std::uint64_t{1024} >> 2 * level;
  };
  world_.faults().set_network({.drop = one_in(Fault::loss),
                               .duplicate = one_in(Fault::duplication),
                               .delay = one_in(Fault::lateness),
                               .stall = one_in(Fault::slow_nics)});
  for (const Fault fault : {Fault::crash, Fault::pause, Fault::partition}) {
    if (drawn_.has(fault)) {
      strike_later(add_event(), fault, kStrikes);
    }
  }
}

Swarm::Event& Swarm::add_event() {
  events_.push_back(std::make_unique<Event>(this, events_.size() + 1));
  return *events_.back();
}

Duration Swarm::moment(std::uint64_t subject) noexcept {
  const std::uint64_t chosen = world_.scheduler().choose(ChoiceKind::moment, kMoments, subject);
  return scale_ * static_cast<std::int64_t>(1 + chosen);
}

void Swarm::happen(Step& step) noexcept {
  auto& event = static_cast<Event&>(step);
  const auto what = std::exchange(event.what, {});
  what();
}

void Swarm::strike_later(Event& event, Fault fault, std::size_t left) {
  if (left == 0 || !drawn_.has(fault)) {
    return;
  }
  event.what = [this, &event, fault, left] {
    switch (fault) {
      case Fault::crash:
        crash_one();
        break;
      case Fault::pause:
        pause_one();
        break;
      default:
        part_two();
    }
    strike_later(event, fault, left - 1);
  };
  world_.scheduler().schedule(event, StepKind::plan, {}, kNumbers + event.number, moment(subject_of(fault)));
}

void Swarm::after(Fault fault, std::function<void()> what) {
  Event& event = add_event();
  event.what = std::move(what);
  world_.scheduler().schedule(event, StepKind::plan, {}, kNumbers + event.number, moment(subject_of(fault) + kEnds));
}

void Swarm::crash_one() {
  const Process& first = *world_.processes().front();
  std::vector<Process*> processes;
  std::vector<Host> hosts;
  for (const auto& process : world_.processes()) {
    if (process.get() != &first && process->is_alive()) {
      processes.push_back(process.get());
      const Host host = process->host_in_world();
      if (host != first.host_in_world() && std::find(hosts.begin(), hosts.end(), host) == hosts.end()) {
        hosts.push_back(host);
      }
    }
  }
  const auto chosen = victim(Fault::crash, processes.size() + hosts.size());
  if (!chosen) {
    return;
  }
  OngoingFaults& faults = world_.faults();
  if (*chosen >= processes.size()) {
    const Host host = hosts[*chosen - processes.size()];
    faults.crash(host);
    after(Fault::crash, [&faults, host] {
      if (!faults.is_up(host)) {
        faults.restart(host);
      }
    });
    return;
  }
  Process& process = *processes[*chosen];
  faults.crash(process);
  if (process.parent() == nullptr) {
    after(Fault::crash, [&faults, &process] {
      if (faults.is_up(process.host_in_world())) {
        faults.restart(process);
      }
    });
  }
}

void Swarm::pause_one() {
  std::vector<Process*> processes;
  for (const auto& process : world_.processes()) {
    if (process->is_alive()) {
      processes.push_back(process.get());
    }
  }
  const auto chosen = victim(Fault::pause, processes.size());
  if (!chosen) {
    return;
  }
  Process& process = *processes[*chosen];
  OngoingFaults& faults = world_.faults();
  faults.pause(process);
  after(Fault::pause, [&faults, &process] { faults.resume(process); });
}

// Two processes, one way or both.
void Swarm::part_two() {
  std::vector<std::pair<const Process*, const Process*>> pairs;
  for (const auto& from : world_.processes()) {
    for (const auto& to : world_.processes()) {
      if (from != to && from->is_alive() && to->is_alive()) {
        pairs.emplace_back(from.get(), to.get());
      }
    }
  }
  const auto chosen = victim(Fault::partition, 2 * pairs.size());
  if (!chosen) {
    return;
  }
  const auto [from, to] = pairs[*chosen / 2];
  const bool is_both = *chosen % 2 == 1;
  OngoingFaults& faults = world_.faults();
  faults.cut(*from, *to);
  if (is_both) {
    faults.cut(*to, *from);
  }
  after(Fault::partition, [&faults, from = from, to = to, is_both] {
    faults.mend(*from, *to);
    if (is_both) {
      faults.mend(*to, *from);
    }
  });
}

bool Swarm::strikes(Fault fault, std::uint64_t subject) noexcept {
  if (!drawn_.has(fault)) {
    return false;
  }
  const std::uint64_t odds = std::uint64_t{1024} >> 2 * levels_[static_cast<std::size_t>(fault)];
  const ChoiceKind kind = fault == Fault::buggify ? ChoiceKind::buggify : ChoiceKind::fault;
  return world_.scheduler().choose(kind, 2, subject, odds) != 0;
}

bool Swarm::refuses_spawn() noexcept {
  return drawn_.has(Fault::spawn_failure) &&
         world_.scheduler().choose(ChoiceKind::fault, 2, subject_of(Fault::spawn_failure), 8) != 0;
}

void Swarm::begins(Process& process) {
  if (drawn_.has(Fault::drift)) {
    const std::uint64_t subject = std::uint64_t{process.number().value()} << 8 | subject_of(Fault::drift);
    world_.faults().set_drift(process, kDriftRows[world_.scheduler().choose(ChoiceKind::fault, kDrifts, subject)]);
  }
}

bool WorldAdversity::strikes(Strike strike) noexcept {
  constexpr std::array<Fault, 3> kKinds{Fault::mailbox_full, Fault::endpoint_throws, Fault::registration_fails};
  const Fault fault = kKinds[static_cast<std::size_t>(strike)];
  const Process* process = world_.running_process();
  const bool is_asked_for =
      strike == Strike::registration_fails && process != nullptr && world_.faults().refuses_registration(*process);
  if (!is_asked_for && !world_.swarm().strikes(fault, subject_of(fault))) {
    return false;
  }
  world_.faults().count(fault);
  world_.faults().tell(
      fmt::format("{} at {}", to_string(fault), process == nullptr ? "the world" : describe(*process)));
  return true;
}

// Of a world with Fault::buggify, one name in two is on.
bool WorldAdversity::buggify(std::string_view name) noexcept {
  if (!world_.swarm().faults().has(Fault::buggify)) {
    return false;
  }
  const std::uint64_t subject = subject_of(name);
  auto found = unusual_.find(name);
  if (found == unusual_.end()) {
    const bool is_on = world_.scheduler().choose(ChoiceKind::buggify, 2, subject) != 0;
    found = unusual_.emplace(name, is_on).first;
    if (is_on) {
      world_.faults().tell(fmt::format("buggify(\"{}\") is on", name));
    }
  }
  if (!found->second || !world_.swarm().strikes(Fault::buggify, subject)) {
    return false;
  }
  world_.faults().count(Fault::buggify);
  return true;
}

void WorldAdversity::mark(std::string_view name, bool reached) noexcept {
  auto found = marks_.find(name);
  if (found == marks_.end()) {
    found = marks_.emplace(name, 0).first;
  }
  found->second += reached ? 1 : 0;
}

}  // namespace ferry::sim
