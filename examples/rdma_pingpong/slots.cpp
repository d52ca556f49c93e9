#include "slots.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include <ferry/base/random.hpp>

namespace rdma_pingpong {
namespace {

constexpr std::byte kGuard{0xa5};

// Word `index` of a pattern. The last one may be needed in part only.
std::uint64_t pattern_word(std::uint64_t key, std::uint64_t index) noexcept {
  return ferry::mix64(key + index);
}
std::uint64_t pattern_key(std::uint64_t seed, std::uint64_t slot) noexcept {
  return ferry::mix64(ferry::mix64(seed) ^ slot);
}

std::string first_wrong(std::span<const std::byte> guard, std::string_view where, std::uint64_t slot) {
  const auto wrong = std::find_if(guard.begin(), guard.end(), [](std::byte byte) { return byte != kGuard; });
  if (wrong == guard.end()) {
    return {};
  }
  return fmt::format("the guard byte {} {} slot {} is {:#04x} and was {:#04x}", wrong - guard.begin(), where, slot,
                     std::to_integer<unsigned>(*wrong), std::to_integer<unsigned>(kGuard));
}

}  // namespace

Slots::Slots(std::uint64_t count, std::uint64_t bytes)
    : count_(count), bytes_(bytes), lines_(count * lines_for(bytes)) {
  const std::span<std::byte> memory = all();
  std::fill(memory.begin(), memory.end(), kGuard);
  for (std::uint64_t index = 0; index < count; ++index) {
    std::memset(slot(index).data(), 0, bytes);
  }
}

std::span<std::byte> Slots::all() noexcept {
  return std::as_writable_bytes(std::span(lines_));
}

std::span<const std::byte> Slots::all() const noexcept {
  return std::as_bytes(std::span(lines_));
}

std::uint64_t Slots::offset(std::uint64_t slot, std::uint64_t bytes_per_slot) noexcept {
  return (slot * lines_for(bytes_per_slot) + 1) * sizeof(Line);
}

void Slots::fill(std::uint64_t seed) {
  for (std::uint64_t index = 0; index < count_; ++index) {
    fill_pattern(slot(index), seed, index);
  }
}

std::string Slots::check_guards() const {
  for (std::uint64_t index = 0; index < count_; ++index) {
    const std::uint64_t begin = offset(index, bytes_);
    const auto before = all().subspan(begin - sizeof(Line), sizeof(Line));
    const std::uint64_t end = begin + bytes_;
    const auto behind = all().subspan(end, offset(index + 1, bytes_) - sizeof(Line) - end);
    std::string wrong = first_wrong(before, "before", index);
    wrong = wrong.empty() ? first_wrong(behind, "behind", index) : wrong;
    if (!wrong.empty()) {
      return wrong;
    }
  }
  return {};
}

std::string Slots::check(std::uint64_t seed, std::uint64_t first_slots) const {
  for (std::uint64_t index = 0; index < std::min(first_slots, count_); ++index) {
    std::string wrong = check_pattern(all().subspan(offset(index, bytes_), bytes_), seed, index);
    if (!wrong.empty()) {
      return wrong;
    }
  }
  return check_guards();
}

void fill_pattern(std::span<std::byte> memory, std::uint64_t seed, std::uint64_t slot) {
  const std::uint64_t key = pattern_key(seed, slot);
  for (std::size_t at = 0; at < memory.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = pattern_word(key, at);
    std::memcpy(memory.data() + at, &word, std::min(sizeof(word), memory.size() - at));
  }
}

std::string check_pattern(std::span<const std::byte> memory, std::uint64_t seed, std::uint64_t slot) {
  const std::uint64_t key = pattern_key(seed, slot);
  for (std::size_t at = 0; at < memory.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = pattern_word(key, at);
    const std::size_t bytes = std::min(sizeof(word), memory.size() - at);
    if (std::memcmp(memory.data() + at, &word, bytes) != 0) {
      const std::span<const std::byte> expected = std::as_bytes(std::span(&word, 1)).first(bytes);
      const auto [wrong, right] = std::mismatch(expected.begin(), expected.end(), memory.data() + at);
      return fmt::format("byte {} of {} in slot {} is {:#04x} and should be {:#04x}",
                         at + static_cast<std::size_t>(wrong - expected.begin()), memory.size(), slot,
                         std::to_integer<unsigned>(*right), std::to_integer<unsigned>(*wrong));
    }
  }
  return {};
}

}  // namespace rdma_pingpong
