// Names of classes and of their members as they stand in the program, the same from g++ 12 and clang 16.
//
//   class_name<ns::ParameterServer>()  "ns::ParameterServer"          member_name<&ns::Worker::sync>()  "sync"
//
// Made at compile time from std::source_location, with static storage. What the compilers do not both tell is left out
// or out of reach: enclosing functions of a local class are left out; inline namespaces other than the standard
// library's, and template arguments that are written though they are the default, differ (g++ names them). A class
// that has to agree in spite of that specialises kClassName.
#pragma once

#include <array>
#include <cstddef>
#include <source_location>
#include <string_view>

namespace ferry::wire {

// Specialise, beside the class, to give it this name: template <> inline constexpr std::string_view kClassName<X> =
// "x";
template <class T>
inline constexpr std::string_view kClassName{};

namespace symbol {

template <class FerrySubject>
constexpr auto spelled_type() noexcept {
  return std::string_view(std::source_location::current().function_name());
}

template <auto FerrySubject>
constexpr auto spelled_value() noexcept {
  return std::string_view(std::source_location::current().function_name());
}

// "… [with auto FerrySubject = X]" or "… [FerrySubject = X]": X.
constexpr std::string_view subject_of(std::string_view signature) noexcept {
  constexpr std::string_view kIntroduction = "FerrySubject = ";
  const std::size_t begin = signature.find(kIntroduction) + kIntroduction.size();
  return signature.substr(begin, signature.rfind(']') - begin);
}

constexpr bool is_word(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
}

// Brings a type's name into one form; see symbol_name.hpp's head. Capacity: a bound of the name's length.
template <std::size_t Capacity>
class Normaliser {
 public:
  constexpr explicit Normaliser(std::string_view name) noexcept : rest_(name) {
    while (!rest_.empty()) {
      step();
    }
    finish_arithmetic();
  }

  constexpr std::string_view text() const noexcept { return {text_.data(), size_}; }

 private:
  constexpr void step() noexcept {
    if (skip("{anonymous}") || skip("(anonymous namespace)")) {
      put("{anonymous}");
    } else if (skip("::")) {
      scope();
    } else if (is_word(rest_.front())) {
      word();
    } else if (skip("<lambda")) {
      put("(lambda");  // `<lambda(int)>` encloses a class like a function does
      lambda_ = true;
    } else {
      const char mark = rest_.front();
      rest_.remove_prefix(1);
      if (mark == '>' && lambda_) {
        put(")");
        lambda_ = false;
      } else if (mark != ' ') {
        put({&mark, 1});
      }
    }
  }

  // `f()::X` is X. `__cxx11::X` is X too: names of this form are the standard library's inline namespaces.
  constexpr void scope() noexcept {
    finish_arithmetic();
    if (size_ > 0 && text_[size_ - 1] == ')') {
      size_ = start_of_argument();
      return;
    }
    const std::size_t begin = start_of_word();
    const std::string_view enclosing = text().substr(begin);
    const bool reserved = enclosing.size() > 1 && enclosing[0] == '_' &&
                          (enclosing[1] == '_' || (enclosing[1] >= 'A' && enclosing[1] <= 'Z'));
    if (reserved) {
      size_ = begin;
    } else {
      put("::");
    }
  }

  constexpr void word() noexcept {
    std::size_t length = 0;
    while (length < rest_.size() && is_word(rest_[length])) {
      ++length;
    }
    std::string_view word = rest_.substr(0, length);
    rest_.remove_prefix(length);
    if (count_arithmetic(word)) {
      return;
    }
    if (word[0] >= '0' && word[0] <= '9') {
      while (std::string_view("uUlL").find(word.back()) != std::string_view::npos) {
        word.remove_suffix(1);  // `3` and `3U`
      }
    }
    put(word);
  }

  // `long unsigned int` and `unsigned long` are the same type: their words are counted until something else comes.
  constexpr bool count_arithmetic(std::string_view word) noexcept {
    int* count = word == "unsigned" ? &unsigned_
                 : word == "signed" ? &signed_
                 : word == "short"  ? &short_
                 : word == "long"   ? &long_
                 : word == "char"   ? &char_
                 : word == "int"    ? &int_
                                    : nullptr;
    if (count != nullptr) {
      ++*count;
    }
    return count != nullptr;
  }

  constexpr void finish_arithmetic() noexcept {
    if (unsigned_ + signed_ + short_ + long_ + char_ + int_ == 0) {
      return;
    }
    const int longs = long_;
    const bool sign = unsigned_ != 0 || (signed_ != 0 && char_ != 0);
    const std::string_view sign_text = unsigned_ != 0 ? "unsigned" : "signed";
    const std::string_view base = char_ != 0 ? "char" : short_ != 0 ? "short" : long_ != 0 ? "" : "int";
    unsigned_ = signed_ = short_ = long_ = char_ = int_ = 0;
    if (sign) {
      put(sign_text);
    }
    for (int i = 0; i < longs; ++i) {
      put("long");
    }
    put(base);
  }

  constexpr bool skip(std::string_view prefix) noexcept {
    const bool found = rest_.starts_with(prefix);
    if (found) {
      rest_.remove_prefix(prefix.size());
    }
    return found;
  }

  // Two words in a row keep one space between them.
  constexpr void put(std::string_view text) noexcept {
    if (text.empty()) {
      return;
    }
    finish_arithmetic();
    if (size_ > 0 && is_word(text.front()) && is_word(text_[size_ - 1])) {
      text_[size_++] = ' ';
    }
    for (const char c : text) {
      text_[size_++] = c;
    }
  }

  constexpr std::size_t start_of_word() const noexcept {
    std::size_t begin = size_;
    while (begin > 0 && is_word(text_[begin - 1])) {
      --begin;
    }
    return begin;
  }

  // Where the template argument (or the whole name) begins whose text ends here.
  constexpr std::size_t start_of_argument() const noexcept {
    std::size_t begin = size_;
    for (int depth = 0; begin > 0; --begin) {
      const char c = text_[begin - 1];
      depth += c == ')' || c == '>' ? 1 : 0;
      if (depth == 0 && (c == '<' || c == ',' || c == '(')) {
        break;
      }
      depth -= c == '(' || c == '<' ? 1 : 0;
    }
    return begin;
  }

  std::string_view rest_;
  std::array<char, Capacity> text_{};
  std::size_t size_ = 0;
  bool lambda_ = false;
  int unsigned_ = 0;
  int signed_ = 0;
  int short_ = 0;
  int long_ = 0;
  int char_ = 0;
  int int_ = 0;
};

// Exactly as long as the text. Not the compiler's own string, which would keep whole signatures in the binary.
template <std::size_t Size>
constexpr std::array<char, Size> copy_of(std::string_view text) noexcept {
  std::array<char, Size> copy{};
  for (std::size_t i = 0; i < Size; ++i) {
    copy[i] = text[i];
  }
  return copy;
}

template <class T>
constexpr auto normalised() noexcept {
  return Normaliser<subject_of(spelled_type<T>()).size() + 32>(subject_of(spelled_type<T>()));
}

template <class T>
inline constexpr auto kClass = copy_of<normalised<T>().text().size()>(normalised<T>().text());

template <auto Member>
constexpr std::string_view member_of_signature() noexcept {
  std::string_view name = subject_of(spelled_value<Member>());
  name.remove_prefix(name.rfind(':') + 1);
  while (name.ends_with(' ')) {
    name.remove_suffix(1);
  }
  return name;
}

template <auto Member>
inline constexpr auto kMember = copy_of<member_of_signature<Member>().size()>(member_of_signature<Member>());

}  // namespace symbol

template <class T>
constexpr std::string_view class_name() noexcept {
  if constexpr (!kClassName<T>.empty()) {
    return kClassName<T>;
  } else {
    return {symbol::kClass<T>.data(), symbol::kClass<T>.size()};
  }
}

template <auto Member>
constexpr std::string_view member_name() noexcept {
  return {symbol::kMember<Member>.data(), symbol::kMember<Member>.size()};
}

}  // namespace ferry::wire
