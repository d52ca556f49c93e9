// A write can tell the owner itself: its tag arrives in the buffer's stream once the bytes are there. No message is
// sent and no code of the owner runs for it, until the owner takes the next tag.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

#include <ferry/ferry.hpp>

#include "../output/output.hpp"

constexpr std::size_t kSlot = 1024;

class Inbox : public ferry::Actor {
 public:
  // notifications: tags are taken from now on, and wait until somebody asks for them.
  explicit Inbox(ferry::ActorContext& context)
      : cells_(4 * kSlot), buffer_(context.register_memory(std::span(cells_), {.notifications = true})) {}

  ferry::BufferRef slot(std::size_t index) {
    return buffer_.ref(ferry::Access::write).subrange(index * kSlot * 4, kSlot * 4);
  }
  // Waits until `count` slots were written; how many of their cells have the value of their slot.
  ferry::Task<std::int64_t> collect(std::size_t count) {
    ferry::NotificationStream written = buffer_.notifications();
    std::int64_t right = 0;
    for (; count > 0; --count) {
      const std::uint64_t index = co_await written.next();
      const auto slot = cells_.begin() + static_cast<std::ptrdiff_t>(index * kSlot);
      right += std::count(slot, slot + kSlot, static_cast<std::uint32_t>(index) + 1);
    }
    co_return right;
  }

  static constexpr auto endpoints = ferry::endpoints<&Inbox::slot, &Inbox::collect>;

 private:
  ferry::vector<std::uint32_t> cells_;
  ferry::RDMABuffer buffer_;
};

int main(int argc, char** argv) {
  return printed(ferry::run(argc, argv, ferry::actors<Inbox>, [](ferry::Context& context) -> ferry::Task<int> {
    auto procs = co_await context.this_host().spawn_procs({{"procs", 1}});
    auto inboxes = co_await procs.spawn<Inbox>("inbox");
    const auto inbox = inboxes.only();
    for (const std::uint32_t index : std::array<std::uint32_t, 4>{2, 0, 3, 1}) {
      const std::vector<std::uint32_t> cells(kSlot, index + 1);
      const ferry::BufferRef slot = co_await inbox.call<&Inbox::slot>(index);
      co_await slot.write_from(std::span(cells), {.notify = index});
    }
    const std::int64_t right = co_await inbox.call<&Inbox::collect>(4);
    std::printf("4 writes, %lld cells\n", static_cast<long long>(right));
    co_return 0;
  }));
}
