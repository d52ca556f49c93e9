// Must not compile: local memory that is no span, or a span of what cannot be moved as bytes.
// refused_memory_test.cpp reads the messages and counts the errors.
#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ferry/actor/actor_context.hpp>
#include <ferry/buffer/buffer_ref.hpp>
#include <ferry/mesh/proc_mesh.hpp>

namespace {

ferry::Task<void> moves(ferry::BufferRef reference) {
  std::vector<float> values(4);
  const std::vector<float> constant(4);
  std::array<float, 4> fixed{};
  std::vector<std::string> texts(4);
  co_await reference.read_into(values);
  co_await reference.write_from(values);
  co_await reference.write_from(constant, {.completion = ferry::transmitted});
  co_await reference.read_into(fixed);
  co_await reference.read_into(values.data());
  co_await reference.read_into(std::span(constant));
  co_await reference.write_from(std::span(texts));
}

// These are all well.
ferry::Task<void> moves_in_pieces(ferry::BufferRef reference) {
  std::vector<ferry::Chunk> chunks;
  const std::array<ferry::Chunk, 1> one{};
  co_await reference.read_into(chunks);
  co_await reference.read_into(std::span(chunks));
  co_await reference.write_from(one, {.notify = 1});
}

void registers(ferry::Context& context, ferry::ActorContext& actor) {
  std::vector<float> values(4);
  static_cast<void>(context.register_memory(values));
  static_cast<void>(actor.register_memory(values, {.notifications = true}));
}

}  // namespace

int main() {
  static_cast<void>(&moves);
  static_cast<void>(&moves_in_pieces);
  static_cast<void>(&registers);
}
