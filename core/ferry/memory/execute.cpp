#include <ferry/memory/execute.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>

#include <ferry/base/limits.hpp>

namespace ferry {

std::uint64_t execute_atomic(AtomicKind kind, std::byte* word, std::uint64_t operand, std::uint64_t expected) noexcept {
  std::atomic_ref<std::uint64_t> target(*reinterpret_cast<std::uint64_t*>(word));
  switch (kind) {
    case AtomicKind::fetch_add:
      return target.fetch_add(operand, std::memory_order_seq_cst);
    case AtomicKind::swap:
      return target.exchange(operand, std::memory_order_seq_cst);
    case AtomicKind::compare_swap:
      target.compare_exchange_strong(expected, operand, std::memory_order_seq_cst);
      return expected;
  }
  return 0;
}

Result<void> copy_from_region(RegionTable& regions, RegionHandle region, std::uint64_t offset, std::byte* local,
                              std::uint64_t length) {
  std::uint64_t done = 0;
  do {
    const std::uint64_t piece = std::min<std::uint64_t>(length - done, limits::kPieceBytes);
    auto pin = regions.pin(region, Access::read, offset + done, piece);
    if (!pin) {
      return pin.error();
    }
    copy_words(local + done, pin->address(), piece, length);
    done += piece;
  } while (done < length);
  return {};
}

Result<void> copy_to_region(RegionTable& regions, RegionHandle region, std::uint64_t offset, const std::byte* local,
                            std::uint64_t length) {
  std::uint64_t done = 0;
  do {
    const std::uint64_t piece = std::min<std::uint64_t>(length - done, limits::kPieceBytes);
    auto pin = regions.pin(region, Access::write, offset + done, piece);
    if (!pin) {
      return done == 0 ? pin.error() : pin.error().with_effect(Effect::unknown);
    }
    copy_words(pin->address(), local + done, piece, length);
    done += piece;
  } while (done < length);
  return {};
}

Result<std::uint64_t> atomic_on_region(RegionTable& regions, RegionHandle region, std::uint64_t offset, AtomicKind kind,
                                       std::uint64_t operand, std::uint64_t expected) {
  auto pin = regions.pin(region, Access::atomic, offset, sizeof(std::uint64_t));
  if (!pin) {
    return pin.error();
  }
  if (reinterpret_cast<std::uintptr_t>(pin->address()) % sizeof(std::uint64_t) != 0) {
    return Failure(errc::misaligned, "an atomic needs a word whose address in the owner's memory is a multiple of 8");
  }
  return execute_atomic(kind, pin->address(), operand, expected);
}

}  // namespace ferry
