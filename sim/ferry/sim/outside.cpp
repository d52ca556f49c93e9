#include <ferry/sim/outside.hpp>

#include <utility>

namespace ferry::sim {
namespace {

thread_local World* running = nullptr;

}  // namespace

World* world_running_here() noexcept {
  return running;
}

OutsideWorld::OutsideWorld() noexcept : world_(std::exchange(running, nullptr)) {}

OutsideWorld::~OutsideWorld() {
  running = world_;
}

InsideWorld::InsideWorld(World& world) noexcept : before_(std::exchange(running, &world)) {}

InsideWorld::~InsideWorld() {
  running = before_;
}

}  // namespace ferry::sim
