// StrongId: integers that must not be mixed up. Compared and hashed, never calculated with.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace ferry {

template <class Tag, class Representation = std::uint64_t>
class StrongId {
 public:
  using representation = Representation;

  constexpr StrongId() noexcept = default;
  constexpr explicit StrongId(Representation value) noexcept : value_(value) {}

  constexpr Representation value() const noexcept { return value_; }
  constexpr explicit operator bool() const noexcept { return value_ != 0; }  // zero is "none" everywhere

  friend constexpr auto operator<=>(StrongId, StrongId) noexcept = default;

 private:
  Representation value_ = 0;
};

}  // namespace ferry

template <class Tag, class Representation>
struct std::hash<ferry::StrongId<Tag, Representation>> {
  std::size_t operator()(ferry::StrongId<Tag, Representation> id) const noexcept {
    return std::hash<Representation>{}(id.value());
  }
};
