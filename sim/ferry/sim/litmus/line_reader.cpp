#include <ferry/sim/litmus/line_reader.hpp>

#include <array>
#include <charconv>

#include <fmt/format.h>

#include <ferry/sim/litmus/limits.hpp>

namespace ferry::sim::litmus {
namespace {

constexpr std::size_t kQuotedLength = 60;
constexpr std::array<std::string_view, 12> kSymbols = {"!=", "<-", "->", "=", "&", "|", "!", "(", ")", ",", ":", "+"};

// Not those of <cctype>, which ask the locale.
constexpr bool is_digit(char character) noexcept {
  return character >= '0' && character <= '9';
}
constexpr bool is_space(char character) noexcept {
  return character == ' ' || character == '\t' || character == '\r' || character == '\f' || character == '\v';
}
constexpr bool begins_name(char character) noexcept {
  return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') || character == '_';
}
constexpr bool continues_name(char character) noexcept {
  return begins_name(character) || is_digit(character);
}

}  // namespace

std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char character : text.substr(0, kQuotedLength)) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += character;
    }
  }
  return out + (text.size() > kQuotedLength ? "…'" : "'");
}

std::string_view LineReader::scan_name() noexcept {
  const std::size_t begin = at_;
  if (at_ < line_.size() && begins_name(line_[at_])) {
    while (at_ < line_.size() && continues_name(line_[at_])) {
      ++at_;
    }
  }
  return line_.substr(begin, at_ - begin);
}

// Everything up to the next white space, so that the error shows what the writer sees as one thing.
Token LineReader::malformed(std::size_t begin) noexcept {
  while (at_ < line_.size() && !is_space(line_[at_])) {
    ++at_;
  }
  Token token;
  token.kind = Token::Kind::malformed;
  token.text = line_.substr(begin, at_ - begin);
  return token;
}

Token LineReader::number(std::size_t begin) noexcept {
  while (at_ < line_.size() && is_digit(line_[at_])) {
    ++at_;
  }
  if (at_ < line_.size() && (continues_name(line_[at_]) || line_[at_] == '.')) {
    return malformed(begin);
  }
  Token token;
  token.kind = Token::Kind::integer;
  token.text = line_.substr(begin, at_ - begin);
  if (std::from_chars(token.text.data(), token.text.data() + token.text.size(), token.value).ec != std::errc{}) {
    token.kind = Token::Kind::malformed;
    token.is_too_large = true;
  }
  return token;
}

Token LineReader::scan() noexcept {
  while (at_ < line_.size() && is_space(line_[at_])) {
    ++at_;
  }
  Token token;
  const std::size_t begin = at_;
  if (at_ == line_.size()) {
    return token;
  }
  if (is_digit(line_[at_])) {
    return number(begin);
  }
  if (begins_name(line_[at_])) {
    token.kind = Token::Kind::word;
    token.first = scan_name();
    const char joint = at_ < line_.size() ? line_[at_] : ' ';
    const bool is_joined = at_ + 1 < line_.size() && begins_name(line_[at_ + 1]);
    if (joint == '@' || joint == '.' || (joint == ':' && is_joined)) {
      if (!is_joined) {
        return malformed(begin);
      }
      token.kind = joint == '@'   ? Token::Kind::location
                   : joint == ':' ? Token::Kind::register_value
                                  : Token::Kind::word;
      ++at_;
      token.second = scan_name();
      while (joint == '.' && at_ < line_.size() && line_[at_] == '.') {
        ++at_;
        if (scan_name().empty()) {
          return malformed(begin);
        }
      }
    }
    token.text = line_.substr(begin, at_ - begin);
    const bool is_long = token.first.size() > kMaxNameLength || token.second.size() > kMaxNameLength;
    return is_long ? malformed(begin) : token;
  }
  for (const std::string_view symbol : kSymbols) {
    if (line_.substr(at_).starts_with(symbol)) {
      at_ += symbol.size();
      token.kind = Token::Kind::symbol;
      token.text = symbol;
      return token;
    }
  }
  ++at_;
  return malformed(begin);
}

Token LineReader::take() noexcept {
  if (is_refused()) {
    return {};
  }
  const Token taken = next_;
  next_ = scan();
  return taken;
}

bool LineReader::accept(std::string_view symbol) noexcept {
  const bool is_next = !is_refused() && next_.kind == Token::Kind::symbol && next_.text == symbol;
  if (is_next) {
    take();
  }
  return is_next;
}

std::string_view LineReader::word(std::string_view expected) {
  if (next_.kind != Token::Kind::word) {
    refuse_next(expected);
  }
  return take().text;
}

std::string_view LineReader::name(std::string_view expected) {
  if (next_.kind != Token::Kind::word || !next_.second.empty()) {
    refuse_next(expected);
  }
  return take().text;
}

Value LineReader::integer(std::string_view expected) {
  if (next_.kind != Token::Kind::integer) {
    refuse_next(expected);
  }
  return take().value;
}

void LineReader::require(std::string_view symbol, std::string_view expected) {
  if (!accept(symbol)) {
    refuse_next(expected);
  }
}

void LineReader::require_end(std::string_view expected) {
  if (next_.kind != Token::Kind::end) {
    refuse_next(expected);
  }
}

void LineReader::refuse_next(std::string_view expected) {
  if (next_.is_too_large) {
    refuse(quoted(next_.text), "an unsigned integer of at most 18446744073709551615");
  } else if (next_.text.size() > kMaxNameLength) {
    refuse(quoted(next_.text), fmt::format("{}, names of at most {} bytes", expected, kMaxNameLength));
  } else {
    refuse(next_.kind == Token::Kind::end ? "the end of the line" : quoted(next_.text), std::string(expected));
  }
}

void LineReader::refuse(std::string found, std::string expected) {
  if (!is_refused()) {
    mismatch_ = Mismatch{std::move(found), std::move(expected)};
  }
}

}  // namespace ferry::sim::litmus
