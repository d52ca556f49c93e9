// Which world runs on this thread, for those that look at what it asks of the real machine (ferry::sim_guard).
//
// OutsideWorld: a scope of code that is called from a running world and is no part of it: where its lines are written,
// who is told of its steps. That may read a clock. Any thread.
#pragma once

namespace ferry::sim {

class World;

// The innermost whose run() is on this thread's stack; null: none, or it is called from an OutsideWorld.
World* world_running_here() noexcept;

class OutsideWorld {
 public:
  OutsideWorld() noexcept;
  ~OutsideWorld();
  OutsideWorld(const OutsideWorld&) = delete;
  OutsideWorld& operator=(const OutsideWorld&) = delete;

 private:
  World* const world_;
};

// While it lives, the world is the one that runs here. World::run() alone makes one.
class InsideWorld {
 public:
  explicit InsideWorld(World& world) noexcept;
  ~InsideWorld();
  InsideWorld(const InsideWorld&) = delete;
  InsideWorld& operator=(const InsideWorld&) = delete;

 private:
  World* const before_;
};

}  // namespace ferry::sim
