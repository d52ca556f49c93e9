#include "partner.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <new>

#include "cores.hpp"
#include "counters.hpp"
#include "polling.hpp"

namespace ferry_bench {

OtherMemory::OtherMemory(std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::bad_alloc();
  }
  memory_ = {static_cast<std::byte*>(memory), bytes};
  std::memset(memory, 1, bytes);
}

OtherMemory::~OtherMemory() {
  if (!memory_.empty()) {
    ::munmap(memory_.data(), memory_.size());
  }
}

std::int32_t Partner::process() {
  return static_cast<std::int32_t>(::getpid());
}

void Partner::keep_to_core(std::int32_t which) {
  keep_process_to_core(which);
}

std::uint64_t Partner::allocations() {
  return ferry_bench::allocations();
}

ferry::BufferRef Partner::share(std::uint64_t bytes) {
  shared_buffer_ = {};
  shared_ = ferry::vector<Line>((bytes + sizeof(Line) - 1) / sizeof(Line));
  shared_buffer_ = context_.register_memory(std::span(shared_));
  return shared_buffer_.ref().subrange(0, bytes);
}

ferry::BufferRef Partner::register_other(std::uint64_t bytes) {
  other_buffer_ = {};
  other_ = OtherMemory(bytes);
  other_buffer_ = context_.register_memory(other_.bytes());
  return other_buffer_.ref();
}

MappingName Partner::map(std::uint64_t bytes) {
  mapping_ = Mapping::create(bytes);
  return mapping_.name();
}

ferry::BufferRef Partner::line() {
  line_buffer_ = {};
  line_ = ferry::vector<Line>(1);
  line_buffer_ = context_.register_memory(std::span(line_));
  return line_buffer_.ref().subrange(0, sizeof(std::uint64_t));
}

ferry::Task<void> Partner::pong(ferry::BufferRef to, std::uint64_t begin, std::uint64_t rounds) {
  std::uint64_t word = begin + 1;
  wait_for_word(line_.front().word, word);
  co_await to.write_from(std::span<const std::uint64_t>(&word, 1));  // may suspend until the memory is mapped
  while (word < begin + rounds) {
    wait_for_word(line_.front().word, ++word);
    co_await to.write_from(std::span<const std::uint64_t>(&word, 1));
  }
}

ferry::Task<void> Partner::bounce(ferry::BufferRef to, std::uint64_t rounds) {
  ferry::vector<std::byte> local(to.size());
  const std::size_t end = to.size() - sizeof(std::uint64_t);
  auto& word = *reinterpret_cast<std::uint64_t*>(reinterpret_cast<std::byte*>(shared_.data()) + end);
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    wait_for_word(word, round);
    *reinterpret_cast<std::uint64_t*>(local.data() + end) = round;
    co_await to.write_from(std::span<const std::byte>(local), {.completion = ferry::transmitted});
  }
}

void Partner::bare_pong(std::uint64_t begin, std::uint64_t rounds) {
  auto* const lines = reinterpret_cast<Line*>(mapping_.memory().data());
  for (std::uint64_t word = begin + 1; word <= begin + rounds; ++word) {
    wait_for_word(lines[0].word, word);
    store_word(lines[1].word, word);
  }
}

std::uint16_t Partner::listen() {
  listener_.emplace(PlainSocket::listen());
  return listener_->port();
}

ferry::Task<void> Partner::serve(std::uint8_t wait, std::uint64_t bytes) {
  auto serving = ferry::offload([this, wait, bytes] {
    const OtherMemory memory(bytes);
    const PlainSocket socket = listener_->accept();
    socket.serve(static_cast<SocketWait>(wait), memory.bytes());
  });
  co_await serving;
}

ferry::Task<PartnerRef> spawn_partner(ferry::Context context) {
  auto procs = co_await context.this_host().spawn_procs({{"partner", 1}});
  auto partners = co_await procs.spawn<Partner>("partner");
  co_await partners.only().call<&Partner::keep_to_core>(1);
  keep_process_to_core(0);
  co_return partners.only();
}

}  // namespace ferry_bench
