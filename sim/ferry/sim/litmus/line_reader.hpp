// LineReader: the tokens of one line of a litmus test, taken one after the other by what is expected next.
//
// It stops at the first mismatch and remembers what was found and what was expected; from then on every call returns an
// empty value, so that a caller reads a whole line without looking and asks for the mismatch once. It borrows the line.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <ferry/sim/litmus/program.hpp>

namespace ferry::sim::litmus {

struct Mismatch {
  std::string found;
  std::string expected;
};

struct Token {
  enum class Kind : std::uint8_t {
    end,             // of the line
    word,            // NAME, or NAME.NAME…: a mnemonic with flags
    location,        // NAME@NODE
    register_value,  // THREAD:REGISTER
    integer,
    symbol,     // one of = != & | ! ( ) , : + <- ->
    malformed,  // none of these
  };
  Kind kind = Kind::end;
  std::string_view text;
  std::string_view first, second;  // the two names of a location or register
  Value value = 0;                 // of an integer
  bool is_too_large = false;       // malformed: digits beyond 64 bits
};

class LineReader {
 public:
  // The line without its comment.
  explicit LineReader(std::string_view line) noexcept : line_(line) { next_ = scan(); }

  const Token& peek() const noexcept { return next_; }
  Token take() noexcept;
  bool accept(std::string_view symbol) noexcept;  // takes the symbol if it is next

  std::string_view word(std::string_view expected);
  std::string_view name(std::string_view expected);  // a word without dots
  Value integer(std::string_view expected);
  void require(std::string_view symbol, std::string_view expected);
  void require_end(std::string_view expected);

  void refuse_next(std::string_view expected);  // what is next is not what was expected
  void refuse(std::string found, std::string expected);

  bool is_refused() const noexcept { return mismatch_.has_value(); }
  const Mismatch& mismatch() const noexcept { return *mismatch_; }

 private:
  Token scan() noexcept;
  Token number(std::size_t begin) noexcept;
  Token malformed(std::size_t begin) noexcept;
  std::string_view scan_name() noexcept;

  std::string_view line_;
  std::size_t at_ = 0;
  Token next_;
  std::optional<Mismatch> mismatch_;
};

// 'text' for an error: control characters written as \xNN, a long text cut.
std::string quoted(std::string_view text);

}  // namespace ferry::sim::litmus
