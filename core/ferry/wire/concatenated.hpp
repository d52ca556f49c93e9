// kConcatenated: texts with static storage joined at compile time, for names made of other names:
//
//   static constexpr std::string_view kOpen = "actor<", kClass = wire::class_name<T>(), kClose = ">";
//   static constexpr std::string_view kName = wire::kConcatenated<kOpen, kClass, kClose>;
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace ferry::wire {

template <const std::string_view&... Texts>
struct Concatenation {
  static constexpr auto kCharacters = [] {
    std::array<char, (std::size_t{0} + ... + Texts.size())> joined{};
    std::size_t size = 0;
    for (const std::string_view text : {Texts...}) {
      for (const char c : text) {
        joined[size++] = c;
      }
    }
    return joined;
  }();
};

template <const std::string_view&... Texts>
inline constexpr std::string_view kConcatenated{Concatenation<Texts...>::kCharacters.data(),
                                                Concatenation<Texts...>::kCharacters.size()};

}  // namespace ferry::wire
