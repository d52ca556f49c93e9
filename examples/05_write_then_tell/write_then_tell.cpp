// Completion orders: once a write has been awaited its bytes are visible to everyone whom the writer tells. So: write
// one-sided, await, then send a message that says so. Two operations that are under way at once have no order.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

#include <ferry/ferry.hpp>

#include "../output/output.hpp"

constexpr std::size_t kRow = 4096;

class Board : public ferry::Actor {
 public:
  explicit Board(ferry::ActorContext& context)
      : cells_(4 * kRow), buffer_(context.register_memory(std::span(cells_))) {}

  // Rights only shrink: whoever gets this row can write it, and nothing else.
  ferry::BufferRef row(std::size_t index) {
    const ferry::BufferRef all = buffer_.ref(ferry::Access::write);
    return all.subrange(index * kRow * sizeof(std::uint32_t), kRow * sizeof(std::uint32_t));
  }
  // Told that a row is written: how many of its cells have that value.
  std::int64_t count(std::size_t index, std::uint32_t value) {
    const auto row = cells_.begin() + static_cast<std::ptrdiff_t>(index * kRow);
    return std::count(row, row + kRow, value);
  }

  static constexpr auto endpoints = ferry::endpoints<&Board::row, &Board::count>;

 private:
  ferry::vector<std::uint32_t> cells_;
  ferry::RDMABuffer buffer_;
};

int main(int argc, char** argv) {
  return printed(ferry::run(argc, argv, ferry::actors<Board>, [](ferry::Context& context) -> ferry::Task<int> {
    auto procs = co_await context.this_host().spawn_procs({{"procs", 1}});
    auto boards = co_await procs.spawn<Board>("board");
    const auto board = boards.only();

    for (std::uint32_t index = 0; index < 4; ++index) {
      const std::vector<std::uint32_t> cells(kRow, index + 1);
      const ferry::BufferRef row = co_await board.call<&Board::row>(index);
      co_await row.write_from(std::span(cells));                                       // the write, to its end …
      const std::int64_t seen = co_await board.call<&Board::count>(index, index + 1);  // … and then the message
      std::printf("row %u: the owner sees %lld of %zu cells\n", index, static_cast<long long>(seen), kRow);
    }
    co_return 0;
  }));
}
