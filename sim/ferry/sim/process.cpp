#include <ferry/sim/process.hpp>

#include <csignal>
#include <utility>

#include <fmt/format.h>

#include <ferry/base/limits.hpp>
#include <ferry/sim/sim_transport.hpp>
#include <ferry/sim/world.hpp>

namespace ferry::sim {

Process::Process(World& world, Process* parent, ProcessNumber number, Port port, Host host, Bootstrap bootstrap,
                 Entry entry)
    : world_(world),
      parent_(parent),
      number_(number),
      port_(port),
      host_in_world_(host),
      bootstrap_(std::move(bootstrap)),
      entry_(std::move(entry)),
      executor_(world.scheduler(), number, [this](Scheduler::End end) { world_.cannot_wait(*this, end); }),
      log_(*this),
      host_(*this),
      begin_(&Process::begin, this),
      finish_(&Process::finish, this),
      follow_(&Process::follow_parent, this) {
  world_.scheduler().fold(bootstrap_.self.incarnation);
  world_.scheduler().schedule(begin_, StepKind::lifecycle, number_, 1,
                              parent == nullptr ? Duration::zero() : world_.fabric().options().start_time);
}

Process::~Process() = default;

void Process::begin(Step& step) noexcept {
  Process& self = *static_cast<Own&>(step).process;
  self.state_ = State::running;
  self.world_.trace(&self, TracedEvent::Kind::begins, self.name());
  self.world_.faults().started(self);
  self.world_.swarm().begins(self);
  try {
    self.program_ = self.entry_(self);
  } catch (...) {
    self.exit(1, describe_exception(std::current_exception(), limits::kExceptionText));
  }
}

void Process::exit(int status, std::string last_words) noexcept {
  if (state_ == State::running && !finish_.is_scheduled()) {
    exit_ = {ProcessExit::How::exited, status, std::move(last_words)};
    world_.scheduler().schedule(finish_, StepKind::lifecycle, number_, 2, Duration::zero());
  }
}

void Process::finish(Step& step) noexcept {
  Process& self = *static_cast<Own&>(step).process;
  self.end_program();
  self.executor_.end();
  self.state_ = State::exited;
  self.ended(self.exit_);
}

void Process::add_transport(NodeCore& node) {
  node.add_transport(std::make_unique<SimTransport>(node, world_.fabric(), number_, port_));
}

void Process::kill() noexcept {
  if (!is_alive()) {
    return;
  }
  Scheduler& scheduler = world_.scheduler();
  if (scheduler.is_running(number_)) {
    scheduler.call_after_step(number_, [this] { kill(); });
    return;
  }
  scheduler.record(StepKind::lifecycle, number_, 3);
  state_ = State::killed;
  scheduler.withdraw(begin_);
  scheduler.withdraw(finish_);
  executor_.halt();
  world_.fabric().killed(number_);
  ended({ProcessExit::How::killed_by_signal, SIGKILL, {}});
}

void Process::follow_parent(Step& step) noexcept {
  static_cast<Own&>(step).process->kill();
}

void Process::ended(const ProcessExit& exit) noexcept {
  exit_ = exit;
  world_.scheduler().withdraw(follow_);
  if (handle_ != nullptr) {
    handle_->ended();
  }
  world_.process_ended(*this, exit_);
}

std::string Process::describe_waits() const {
  std::string text = program_ == nullptr ? std::string() : program_->waits_for();
  return fmt::format("{} (process {}{}): {}", name(), number_.value(),
                     world_.faults().is_paused(*this) ? ", paused" : "",
                     text.empty() ? "waits for nothing known" : text);
}

}  // namespace ferry::sim
