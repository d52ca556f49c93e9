#include <ferry/sim/sim_process_host.hpp>

#include <fmt/format.h>

#include <ferry/sim/process.hpp>
#include <ferry/sim/sim_fabric.hpp>
#include <ferry/sim/world.hpp>

namespace ferry::sim {

Result<std::unique_ptr<ChildProcess>> SimProcessHost::start(const SpawnRequest& request, ChildEvents& events) {
  const Entry* entry = request.program.empty() ? &process_.entry() : process_.world().find_program(request.program);
  if (entry == nullptr) {
    return Failure(errc::spawn_failed,
                   fmt::format("{}: no such program in this world; give it to World::add_program", request.program));
  }
  if (Failure refused = process_.world().faults().spawn_refusal(process_.host_in_world())) {
    return refused;
  }
  Process& child = process_.world().start_child(process_, request.bootstrap, *entry);
  return std::unique_ptr<ChildProcess>(std::make_unique<SimChild>(child, events));
}

SimChild::SimChild(Process& child, ChildEvents& events) noexcept : child_(child), events_(events), news_(this) {
  child_.handle_ = this;
}

SimChild::~SimChild() {
  child_.handle_ = nullptr;
  child_.world().scheduler().withdraw(news_);
  child_.kill();
}

std::int64_t SimChild::pid() const noexcept {
  return child_.number().value();
}

void SimChild::kill() noexcept {
  child_.kill();
}

void SimChild::ended() noexcept {
  World& world = child_.world();
  const Process& parent = *child_.parent();
  // Its own system tells a parent; of another host it misses what it should have heard.
  const bool is_near = parent.host_in_world() == child_.host_in_world() || child_.state() == Process::State::exited;
  const Duration news = is_near ? world.fabric().delay(0) : child_.bootstrap().limits.failure_detection;
  world.scheduler().schedule(news_, StepKind::lifecycle, parent.number(), child_.number().value(), news);
}

void SimChild::tell(Step& step) noexcept {
  SimChild& self = *static_cast<News&>(step).child;
  if (self.child_.parent()->is_alive()) {
    self.events_.on_exit(self.child_.exit_);
  }
}

}  // namespace ferry::sim
