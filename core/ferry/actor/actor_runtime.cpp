#include <ferry/actor/actor_runtime.hpp>

#include <algorithm>

#include <fmt/format.h>

#include <ferry/base/check.hpp>
#include <ferry/base/limits.hpp>
#include <ferry/transport/node_core.hpp>

namespace ferry {
namespace {

constexpr std::size_t kRememberedEnds = 1024;

}  // namespace

ActorRuntime::ActorRuntime(NodeCore& node, std::vector<ActorClass> classes)
    : node_(node), self_peer_(node.peers().find_or_add(node.self())), classes_(std::move(classes)) {
  node_.set_sink(*this);
  node_.set_actors(*this);
  node_.peers().set_events(*this);
}

ActorRuntime::~ActorRuntime() {
  FERRY_CHECK(live_cells_.is_empty());
}

std::shared_ptr<ActorCell> ActorRuntime::new_cell(const ActorClass& actor_class, ActorId id, const std::string& name) {
  live_cells_.enter();
  return {new ActorCell(*this, actor_class, id, name), [this](ActorCell* cell) { retire(cell); }};
}

void ActorRuntime::install_node_actor(const ActorClass& node_actor_class, std::unique_ptr<Actor> actor) {
  auto cell = new_cell(node_actor_class, kNodeActor, "node");
  cell->adopt(std::move(actor));
  const std::lock_guard lock(mutex_);
  cells_.emplace(kNodeActor, std::move(cell));
}

// Runs an actor's constructor on its strand. Owns itself, so that the one who spawned may be dropped.
struct ActorRuntime::Construction : Job {
  Construction(std::shared_ptr<ActorCell> target, ActorSpec from, OneShot<Failure> to)
      : Job(&Construction::run_it, &Construction::drop),
        cell(std::move(target)),
        spec(std::move(from)),
        outcome(std::move(to)) {}
  static void run_it(Job& job) noexcept {
    const std::unique_ptr<Construction> self(static_cast<Construction*>(&job));
    const std::vector<wire::ByteView> views(self->spec.arguments.begin(), self->spec.arguments.end());
    self->outcome.set(self->cell->construct(views));
  }
  static void drop(Job& job) noexcept { delete static_cast<Construction*>(&job); }

  std::shared_ptr<ActorCell> cell;
  ActorSpec spec;
  OneShot<Failure> outcome;
};

Result<std::shared_ptr<ActorCell>> ActorRuntime::make_cell(ActorSpec spec, const OneShot<Failure>& outcome) {
  const auto known = std::find_if(classes_.begin(), classes_.end(),
                                  [&](const ActorClass& candidate) { return candidate.name == spec.class_name; });
  if (known == classes_.end()) {
    return Failure(
        errc::no_such_actor_class,
        fmt::format("{} does not list the actor class {}; add it to ferry::actors<…>", node_.name(), spec.class_name));
  }
  if (known->fingerprint != spec.fingerprint) {
    return Failure(errc::version_mismatch,
                   fmt::format("{} was built from another declaration of {}; build both from the same", node_.name(),
                               spec.class_name));
  }
  const std::lock_guard lock(mutex_);
  if (!takes_actors_) {
    return Failure(errc::shut_down, fmt::format("{} is shutting down", node_.name()));
  }
  if (!spec.name.empty() && names_.contains(spec.name)) {
    return Failure(errc::name_in_use, fmt::format("{} has an actor named \"{}\" already; choose another name, or stop "
                                                  "that one first",
                                                  node_.name(), spec.name));
  }
  const ActorId id(next_actor_++);
  auto cell = new_cell(*known, id, spec.name);
  if (!spec.name.empty()) {
    names_.emplace(spec.name, id);
  }
  // Queued before anybody can find the actor: its constructor runs before any message.
  cell->strand().post(*new Construction(cell, std::move(spec), outcome));
  cells_.emplace(id, cell);
  return cell;
}

Task<ActorId> ActorRuntime::spawn(ActorSpec spec) {
  const OneShot<Failure> constructed;
  auto made = make_cell(std::move(spec), constructed);
  if (!made) {
    throw Error(made.error().during("spawn"));
  }
  const std::shared_ptr<ActorCell> cell = std::move(*made);
  const Failure failure = co_await constructed;
  if (failure) {
    forget(cell->id(), cell->never_lived(failure));
    throw Error(failure.during("spawn"));
  }
  co_return cell->id();
}

void ActorRuntime::forget(ActorId id, const Failure& why) {
  std::shared_ptr<ActorCell> last;  // released without the lock
  forget_window(self_peer_, id);
  const std::lock_guard lock(mutex_);
  const auto found = cells_.find(id);
  if (found == cells_.end()) {
    return;
  }
  last = std::move(found->second);
  cells_.erase(found);
  if (const auto named = names_.find(last->name()); named != names_.end() && named->second == id) {
    names_.erase(named);
  }
  ends_.emplace(id, why);
  ends_order_.push_back(id);
  if (ends_order_.size() > kRememberedEnds) {
    ends_.erase(ends_order_.front());
    ends_order_.erase(ends_order_.begin());
  }
}

Task<void> ActorRuntime::stop(ActorId id, Failure why) {
  const std::shared_ptr<ActorCell> cell = find(id);
  if (cell == nullptr) {
    co_return;
  }
  const OneShot<bool> stopped;
  cell->stop(cell, why, [this, id, why, stopped] {
    forget(id, why);
    stopped.set(true);
  });
  co_await stopped;
}

std::shared_ptr<ActorCell> ActorRuntime::find(ActorId id) const noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = cells_.find(id);
  return found == cells_.end() ? nullptr : found->second;
}

const Actor* ActorRuntime::peek(ActorId id) const noexcept {
  const auto cell = find(id);
  return cell == nullptr ? nullptr : cell->actor();
}

Failure ActorRuntime::absent(ActorId id) const {
  const std::lock_guard lock(mutex_);
  if (const auto end = ends_.find(id); end != ends_.end()) {
    return end->second;
  }
  if (id.value() < next_actor_ && id) {
    return Failure(errc::actor_stopped, fmt::format("actor {} of {} has stopped", id.value(), node_.name()));
  }
  return Failure(errc::no_such_actor, fmt::format("{} never had an actor {}", node_.name(), id.value()));
}

void ActorRuntime::retire(ActorCell* cell) noexcept {
  const std::lock_guard lock(retired_mutex_);
  retired_.push_back(cell);
  if (retired_.size() == 1) {
    node_.executor().post(reaper_);
  }
}

bool ActorRuntime::delete_retired() noexcept {
  std::vector<ActorCell*> cells;
  {
    const std::lock_guard lock(retired_mutex_);
    cells.swap(retired_);
  }
  for (ActorCell* cell : cells) {
    delete cell;
    live_cells_.leave();
  }
  return !cells.empty();
}

Task<void> ActorRuntime::stop_all() {
  std::vector<ActorId> ids;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, cell] : cells_) {  // lint: allow(unordered) sorted below
      if (id != kNodeActor) {
        ids.push_back(id);
      }
    }
  }
  std::sort(ids.rbegin(), ids.rend());
  for (const ActorId id : ids) {
    auto stopping = stop(id, Failure(errc::actor_stopped, "its process is shutting down"));
    co_await stopping;
  }
}

// The process was killed: nothing runs any more, only memory is given back.
void ActorRuntime::drop_everything(std::vector<std::shared_ptr<ActorCell>> cells) noexcept {
  for (const auto& cell : cells) {
    cell->strand().discard();
  }
  cells.clear();
  while (delete_retired()) {  // what a cell's tasks held retires with it
  }
  live_cells_.close(node_.executor());
}

void ActorRuntime::shut_down() noexcept {
  if (std::exchange(shut_down_, true)) {
    return;
  }
  std::vector<std::shared_ptr<ActorCell>> cells;
  {
    const std::lock_guard lock(mutex_);
    takes_actors_ = false;
    for (const auto& [id, cell] : cells_) {  // lint: allow(unordered) sorted below
      cells.push_back(cell);
    }
    cells_.clear();
    names_.clear();
  }
  std::sort(cells.begin(), cells.end(), [](const auto& a, const auto& b) { return a->id() > b->id(); });
  if (node_.executor().halted()) {
    drop_everything(std::move(cells));
    return;
  }
  for (auto& cell : cells) {
    Latch stopped;
    ActorCell& target = *cell;
    target.stop(cell, Failure(errc::actor_stopped, "its process is shutting down"), [&stopped] { stopped.set(); });
    node_.executor().wait(stopped);
    cell.reset();
  }
  live_cells_.close(node_.executor());
}

}  // namespace ferry
