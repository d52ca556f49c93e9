#include <ferry/sim/litmus/state_table.hpp>

#include <cstring>
#include <functional>

#include <ferry/base/check.hpp>

namespace ferry::sim::litmus {
namespace {

constexpr std::size_t kFirstSlots = 1024;
constexpr std::size_t kBlockSize = kMaxEncodedState;

using Length = std::uint32_t;

std::uint64_t hash_of(std::string_view encoding) noexcept {
  return std::hash<std::string_view>{}(encoding);
}

}  // namespace

StateTable::StateTable() : slots_(kFirstSlots) {}

std::string_view StateTable::operator[](StateNumber number) const noexcept {
  Length length = 0;
  std::memcpy(&length, places_[number], sizeof length);
  return {places_[number] + sizeof length, length};
}

std::size_t StateTable::bytes() const noexcept {
  return blocks_.size() * kBlockSize + places_.capacity() * sizeof(const char*) + slots_.size() * sizeof(Slot);
}

std::pair<StateNumber, bool> StateTable::insert(std::string_view encoding) {
  if (3 * (size() + 1) > 2 * slots_.size()) {
    grow();
  }
  const std::uint64_t hash = hash_of(encoding);
  const auto tag = static_cast<std::uint32_t>(hash >> 32);
  std::size_t at = hash & (slots_.size() - 1);
  for (; slots_[at].number_plus_one != 0; at = (at + 1) & (slots_.size() - 1)) {
    const StateNumber number = slots_[at].number_plus_one - 1;
    if (slots_[at].tag == tag && (*this)[number] == encoding) {
      return {number, false};
    }
  }
  FERRY_CHECK(size() < kMaxStates);
  const auto number = static_cast<StateNumber>(size());
  places_.push_back(place(encoding));
  slots_[at] = {tag, number + 1};
  return {number, true};
}

const char* StateTable::place(std::string_view encoding) {
  const std::size_t size = sizeof(Length) + encoding.size();
  FERRY_CHECK(size <= kBlockSize);
  if (blocks_.empty() || used_ + size > kBlockSize) {
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(kBlockSize));
    used_ = 0;
  }
  char* const begin = blocks_.back().get() + used_;
  const auto length = static_cast<Length>(encoding.size());
  std::memcpy(begin, &length, sizeof length);
  std::memcpy(begin + sizeof length, encoding.data(), encoding.size());
  used_ += size;
  return begin;
}

void StateTable::grow() {
  std::vector<Slot> larger(2 * slots_.size());
  for (const Slot& slot : slots_) {
    if (slot.number_plus_one == 0) {
      continue;
    }
    std::size_t at = hash_of((*this)[slot.number_plus_one - 1]) & (larger.size() - 1);
    while (larger[at].number_plus_one != 0) {
      at = (at + 1) & (larger.size() - 1);
    }
    larger[at] = slot;
  }
  slots_ = std::move(larger);
}

}  // namespace ferry::sim::litmus
