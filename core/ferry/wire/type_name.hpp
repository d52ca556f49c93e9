// type_name: how ferry calls the types that it sends, by their structure and never by a compiler's spelling.
//
//   "u32"  "str"  "list<f32>"  "map<str,u64>"  "optional<bool>"  "{u32,str}" for a struct or tuple of these two
//
// Two types with the same name have the same encoding. Inside a struct, "^1" is that struct itself, "^2" the one around
// it, and so on, so that trees have names too. With class_name and member_name (symbol_name.hpp) and fingerprint
// (fingerprint.hpp) these names say whether two programs mean the same endpoint. Everything has static storage.
#pragma once

#include <array>
#include <cstddef>
#include <ratio>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include <ferry/wire/aggregate.hpp>
#include <ferry/wire/fingerprint.hpp>
#include <ferry/wire/kinds.hpp>
#include <ferry/wire/messagepack.hpp>
#include <ferry/wire/symbol_name.hpp>

namespace ferry::wire {
namespace naming {

// Counts characters, and stores them if there is room.
class Sink {
 public:
  constexpr Sink() noexcept = default;
  constexpr explicit Sink(char* to) noexcept : to_(to) {}

  constexpr void text(std::string_view text) noexcept {
    for (const char c : text) {
      if (to_ != nullptr) {
        to_[size_] = c;
      }
      ++size_;
    }
  }

  constexpr void number(std::uintmax_t number) noexcept {
    if (number >= 10) {
      this->number(number / 10);
    }
    const char digit = static_cast<char>('0' + number % 10);
    text({&digit, 1});
  }

  constexpr std::size_t size() const noexcept { return size_; }

 private:
  char* to_ = nullptr;
  std::size_t size_ = 0;
};

template <class... Types>
struct Enclosing {};

template <class T, class Around>
constexpr void spell(Sink& sink);

template <class T, class Around>
struct SpellAll;
template <template <class...> class Tuple, class... Members, class Around>
struct SpellAll<Tuple<Members...>, Around> {
  static constexpr void between(std::string_view open, Sink& sink, std::string_view close) {
    sink.text(open);
    std::size_t written = 0;
    (((written++ > 0 ? sink.text(",") : void()), spell<Members, Around>(sink)), ...);
    sink.text(close);
  }
};

template <class T, class Around>
struct SpellAggregate;
template <class T, class... Types>
struct SpellAggregate<T, Enclosing<Types...>> {
  static constexpr void to(Sink& sink) {
    if constexpr ((std::is_same_v<T, Types> || ...)) {
      std::size_t distance = 0;
      static_cast<void>(((++distance, std::is_same_v<T, Types>) || ...));
      sink.text("^");
      sink.number(distance);
    } else if constexpr (kIsSupported<T> && aggregate::Check<T>::kGood) {
      using Members = typename aggregate::MemberTypes<T>::type;
      SpellAll<Members, Enclosing<T, Types...>>::between("{", sink, "}");
    }
  }
};

template <class Around, class... Arguments>
constexpr void spell_template(Sink& sink, std::string_view name) {
  sink.text(name);
  SpellAll<std::tuple<Arguments...>, Around>::between("<", sink, ">");
}

template <class Around, class T>
constexpr void spell_duration(Sink& sink) {
  sink.text("duration<");
  spell<typename T::rep, Around>(sink);
  sink.text(",");
  sink.number(static_cast<std::uintmax_t>(T::period::num));
  sink.text("/");
  sink.number(static_cast<std::uintmax_t>(T::period::den));
  sink.text(">");
}

template <class Around, class T>
constexpr void spell_array(Sink& sink) {
  sink.text("array<");
  spell<typename T::value_type, Around>(sink);
  sink.text(",");
  sink.number(std::tuple_size_v<T>);
  sink.text(">");
}

template <class Around, class T>
constexpr void spell_binary(Sink& sink) {
  sink.text("bytes");
  if constexpr (kinds::is_array<T>) {
    sink.text("<");
    sink.number(std::tuple_size_v<T>);
    sink.text(">");
  }
}

// Around: Enclosing<the innermost aggregate that T stands in, the one around that, …>.
template <class T, class Around>
constexpr void spell(Sink& sink) {
  constexpr Kind kThis = kKindOf<T>;
  if constexpr (kThis == Kind::coded) {
    sink.text(Codec<T>::kName);
  } else if constexpr (kThis == Kind::nil) {
    sink.text("nil");
  } else if constexpr (kThis == Kind::boolean) {
    sink.text("bool");
  } else if constexpr (kThis == Kind::integer) {
    sink.text(integer_name<WireInteger<T>>());
  } else if constexpr (kThis == Kind::real) {
    sink.text(std::is_same_v<T, float> ? "f32" : "f64");
  } else if constexpr (kThis == Kind::enumeration) {
    spell<std::underlying_type_t<T>, Around>(sink);
  } else if constexpr (kThis == Kind::id) {
    spell<typename T::representation, Around>(sink);
  } else if constexpr (kThis == Kind::duration) {
    spell_duration<Around, T>(sink);
  } else if constexpr (kThis == Kind::text) {
    sink.text("str");
  } else if constexpr (kThis == Kind::binary) {
    spell_binary<Around, T>(sink);
  } else if constexpr (kThis == Kind::list) {
    spell_template<Around, typename T::value_type>(sink, "list");
  } else if constexpr (kThis == Kind::fixed) {
    spell_array<Around, T>(sink);
  } else if constexpr (kThis == Kind::set) {
    spell_template<Around, typename T::key_type>(sink, "set");
  } else if constexpr (kThis == Kind::map) {
    spell_template<Around, typename T::key_type, typename T::mapped_type>(sink, "map");
  } else if constexpr (kThis == Kind::tuple) {
    SpellAll<T, Around>::between("{", sink, "}");
  } else if constexpr (kThis == Kind::optional) {
    static_cast<void>(kIsSupported<T>);
    spell_template<Around, typename T::value_type>(sink, "optional");
  } else if constexpr (kThis == Kind::variant) {
    sink.text("variant");
    SpellAll<T, Around>::between("<", sink, ">");
  } else if constexpr (kThis == Kind::aggregate) {
    SpellAggregate<T, Around>::to(sink);
  } else {
    static_cast<void>(kIsSupported<T>);
  }
}

template <class T>
consteval std::size_t size_of_name() {
  Sink sink;
  spell<T, Enclosing<>>(sink);
  return sink.size();
}

template <class T>
inline constexpr auto kName = [] {
  std::array<char, size_of_name<T>()> name{};
  Sink sink(name.data());
  spell<T, Enclosing<>>(sink);
  return name;
}();

}  // namespace naming

// T without reference and const; "void" for void (what an endpoint without a result gives).
template <class T>
constexpr std::string_view type_name() noexcept {
  using Plain = std::remove_cvref_t<T>;
  if constexpr (std::is_void_v<Plain>) {
    return "void";
  } else {
    return {naming::kName<Plain>.data(), naming::kName<Plain>.size()};
  }
}

}  // namespace ferry::wire
