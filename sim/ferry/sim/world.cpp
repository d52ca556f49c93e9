#include <ferry/sim/world.hpp>

#include <utility>

#include <fmt/format.h>

#include <ferry/base/check.hpp>
#include <ferry/base/limits.hpp>
#include <ferry/sim/finding_log.hpp>
#include <ferry/sim/memory_watch.hpp>
#include <ferry/sim/outside.hpp>
#include <ferry/sim/sim_fabric.hpp>
#include <ferry/sim/virtual_time.hpp>

namespace ferry::sim {
namespace {

constexpr std::size_t kMaxProcesses = (std::size_t{1} << 20) - 1;  // Scheduler packs the number into 20 bits

WorldOptions checked(const WorldOptions& options) {
  if (Failure refused = check(options.fabric)) {
    throw Error(refused);
  }
  if (options.hosts == 0 || options.hosts > kMostHosts) {
    throw Error(Failure(errc::invalid_argument,
                        fmt::format("WorldOptions::hosts is {}; a world has 1 to {}", options.hosts, kMostHosts)));
  }
  return options;
}

}  // namespace

std::string_view to_string(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::passed:
      return "passed";
    case Outcome::failed:
      return "failed";
    case Outcome::invariant:
      return "invariant violated";
    case Outcome::finding:
      return "finding";
    case Outcome::stuck:
      return "stuck";
    case Outcome::steps:
      return "step budget used up";
    case Outcome::crash:
      return "crashed";
    case Outcome::wall:
      return "never ended";
  }
  return "unknown";
}

std::string WorldResult::to_text() const {
  if (outcome == Outcome::crash || outcome == Outcome::wall) {  // nobody saw how far it came
    return fmt::format("{}, seed={}: {}", to_string(outcome), seed, what);
  }
  return fmt::format("{} after {} steps and {}, seed={} hash={:#018x} data={:#018x}{}{}", to_string(outcome), steps,
                     seconds(virtual_time), seed, hash, data, what.empty() ? "" : ": ", what);
}

World::World(const WorldOptions& options)
    : options_(checked(options)),
      seeded_(options.seed),
      random_{stream_of(options.seed, 2, 0), stream_of(options.seed, 2, 1), stream_of(options.seed, 2, 2)},
      scheduler_(options.choices == nullptr ? seeded_ : *options.choices, options.steps),
      fabric_(std::make_unique<SimFabric>(scheduler_, options.fabric)),
      log_(options.log),
      faults_(*this, options_.hosts) {
  if (options_.findings != FindingMode::off) {
    finding_log_ = std::make_unique<FindingLog>(*this, options_.findings, options_.expected, options_.trace);
    memory_watch_ = std::make_unique<MemoryWatch>(*this, *finding_log_);
    finding_log_->before_step([watch = memory_watch_.get()] { watch->step_ended(); });
    fabric_->watch(memory_watch_.get());
  }
  scheduler_.trace_to(finding_log_ != nullptr ? finding_log_.get() : options_.trace);
  for (std::byte& byte : secret_) {
    byte = static_cast<std::byte>(random(Purpose::secret).next());
  }
}

World::~World() {
  scheduler_.close();
  for (const auto& process : processes_) {
    process->executor().halt();
  }
  for (const auto& process : processes_) {
    process->executor().bury();
  }
  for (auto process = processes_.rbegin(); process != processes_.rend(); ++process) {
    (*process)->end_program();
  }
}

Process& World::start(std::string name, Entry entry, Port port, Host host) {
  if (host.index >= options_.hosts || !faults_.is_up(host)) {
    throw Error(
        Failure(errc::invalid_argument,
                fmt::format("host {} is {}", host.index, host.index < options_.hosts ? "down" : "none of the world")));
  }
  Bootstrap bootstrap;
  bootstrap.secret = secret_;
  bootstrap.name = std::move(name);
  bootstrap.transports = "sim";
  bootstrap.limits = options_.limits;
  ++roots_alive_;
  return add_process(nullptr, std::move(bootstrap), std::move(entry), port, host);
}

Host World::host(std::size_t index) const {
  if (index >= options_.hosts) {
    throw Error(Failure(errc::invalid_argument, fmt::format("host {}: the world has {}, numbered from 0; "
                                                            "WorldOptions::hosts makes more",
                                                            index, options_.hosts)));
  }
  return {static_cast<std::uint32_t>(index)};
}

Host World::host_for_child(const Process& parent) noexcept {
  if (options_.placement == Placement::spread) {
    for (std::size_t tried = 0; tried < options_.hosts; ++tried) {
      const Host host{static_cast<std::uint32_t>(++last_placed_ % options_.hosts)};
      if (faults_.is_up(host)) {
        return host;
      }
    }
  }
  return parent.host_in_world();
}

Process& World::start_child(Process& parent, const Bootstrap& bootstrap, const Entry& entry) {
  return add_process(&parent, bootstrap, entry, {}, host_for_child(parent));
}

Process& World::add_process(Process* parent, Bootstrap bootstrap, Entry entry, Port port, Host host) {
  FERRY_CHECK(processes_.size() < kMaxProcesses);
  const ProcessNumber number(static_cast<std::uint32_t>(processes_.size() + 1));
  if (!bootstrap.self) {
    bootstrap.self = {number.value(), random(Purpose::identity).next()};
  }
  processes_.push_back(std::make_unique<Process>(*this, parent, number, port ? port : Port(++last_port_), host,
                                                 std::move(bootstrap), std::move(entry)));
  return *processes_.back();
}

const Entry* World::find_program(const std::string& name) const noexcept {
  const auto found = programs_.find(name);
  return found == programs_.end() ? nullptr : &found->second;
}

void World::fail(std::string what, Outcome outcome) noexcept {
  if (failed_ == Outcome::passed) {
    failed_ = outcome;
    what_ = std::move(what);
  }
  scheduler_.request_stop();
}

void World::expect_races(std::span<const std::byte> bytes) noexcept {
  if (finding_log_ != nullptr) {
    finding_log_->expect(bytes.data(), bytes.size());
  }
}

void World::expect_races(const RDMABuffer& buffer) noexcept {
  expect_races(std::span(static_cast<const std::byte*>(buffer.data()), buffer.size()));
}

void World::trace(const Process* process, TracedEvent::Kind kind, std::string_view text) {
  if (TraceSink* sink = scheduler_.trace()) {
    const OutsideWorld outside;
    sink->on_event(
        {now(), scheduler_.steps(), process == nullptr ? ProcessNumber{} : process->number(), kind, std::string(text)});
  }
}

// Its children do not survive it.
void World::process_ended(Process& process, const ProcessExit& exit) noexcept {
  trace(&process, TracedEvent::Kind::ends, exit.to_text());
  if (memory_watch_ != nullptr) {
    memory_watch_->process_ended(process.number(), exit.how != ProcessExit::How::exited);
  }
  for (const auto& child : processes_) {
    if (child->parent() == &process && child->is_alive() && !child->follow_.is_scheduled()) {
      scheduler_.schedule(child->follow_, StepKind::lifecycle, {}, child->number().value(),
                          fabric_->delay(0));  // also if paused
    }
  }
  if (process.parent() != nullptr) {
    return;
  }
  if (exit.how == ProcessExit::How::exited && exit.value != 0) {
    fail(fmt::format("{} {}", process.name(), exit.to_text()));
  }
  --roots_alive_;
  stop_if_done();
}

void World::stop_if_done() noexcept {
  if (roots_alive_ == 0 && plans_left_ == 0) {
    scheduler_.request_stop();
  }
}

WorldResult World::run() {
  const AdversityGuard adverse(&adversity_);
  const InsideWorld inside(*this);
  swarm_.begin();
  const Scheduler::End end = scheduler_.run(nullptr);
  if (memory_watch_ != nullptr) {
    memory_watch_->step_ended();
    memory_watch_->close();
  }
  scheduler_.trace_to(nullptr);  // what is destroyed from now on is no part of the run
  WorldResult result;
  result.seed = options_.seed;
  result.steps = scheduler_.steps();
  result.hash = scheduler_.hash();
  result.data = scheduler_.data();
  result.virtual_time = now().time_since_epoch();
  result.faults = faults_.told();
  for (std::size_t index = 0; index < kFaults; ++index) {
    if (const std::uint64_t count = faults_.struck()[index]; count > 0) {
      result.struck.emplace(to_string(static_cast<Fault>(index)), count);
    }
  }
  if (finding_log_ != nullptr) {
    result.findings = finding_log_->texts();
    result.found = finding_log_->counts();
  }
  result.parts = parts_;
  result.marks.insert(adversity_.marks().begin(), adversity_.marks().end());
  if (failed_ != Outcome::passed) {
    result.outcome = failed_;
    result.what = what_;
  } else if (end == Scheduler::End::budget) {
    result.outcome = Outcome::steps;
    result.what = describe_stuck();
  } else if (roots_alive_ > 0) {
    result.outcome = Outcome::stuck;
    result.what = describe_stuck();
  } else {
    result.outcome = Outcome::passed;
  }
  return result;
}

std::string World::describe_stuck() const {
  std::string text;
  for (const auto& process : processes_) {
    if (process->is_alive()) {
      text += (text.empty() ? "" : "\n") + process->describe_waits();
    }
  }
  return text;
}

void World::cannot_wait(const Process& process, Scheduler::End end) const {
  throw Error(
      Failure(errc::would_deadlock,
              fmt::format("{} blocks on something that {} sets; await it instead. Processes alive:\n{}", process.name(),
                          end == Scheduler::End::budget ? "nothing, within the step budget," : "nothing in this world",
                          describe_stuck())));
}

}  // namespace ferry::sim
