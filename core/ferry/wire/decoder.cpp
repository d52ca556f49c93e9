#include <ferry/wire/decoder.hpp>

#include <bit>
#include <cmath>

#include <fmt/format.h>

namespace ferry::wire {
namespace {

// What stands in the input, for the text of a failure.
std::string description_of(const Head& head, std::size_t remaining) {
  switch (head.kind) {
    case Head::Kind::nil:
      return "nil";
    case Head::Kind::boolean:
      return head.number == 0 ? "false" : "true";
    case Head::Kind::positive:
      return fmt::format("the integer {}", head.number);
    case Head::Kind::negative:
      return fmt::format("the integer {}", static_cast<std::int64_t>(head.number));
    case Head::Kind::float32:
      return fmt::format("the f32 {}", std::bit_cast<float>(static_cast<std::uint32_t>(head.number)));
    case Head::Kind::float64:
      return fmt::format("the f64 {}", std::bit_cast<double>(head.number));
    case Head::Kind::string:
      return fmt::format("a string of {} bytes", head.number);
    case Head::Kind::binary:
      return fmt::format("binary of {} bytes", head.number);
    case Head::Kind::ext:
      return fmt::format("ext type {} of {} bytes", head.ext_type, head.number);
    case Head::Kind::array:
      return fmt::format("an array of {}", head.number);
    case Head::Kind::map:
      return fmt::format("a map of {}", head.number);
    case Head::Kind::invalid:
      return "the byte 0xc1, which MessagePack never uses";
    case Head::Kind::cut:
      break;
  }
  return remaining == 0 ? "the end of the bytes" : "a value that is cut off";
}

bool has_content(Head::Kind kind) noexcept {
  return kind == Head::Kind::string || kind == Head::Kind::binary || kind == Head::Kind::ext;
}

// The least bytes of the values that a head announces.
std::uint64_t least_content(const Head& head) noexcept {
  return head.kind == Head::Kind::array ? head.number : head.kind == Head::Kind::map ? 2 * head.number : 0;
}

}  // namespace

bool Decoder::fail(std::string_view text) {
  return fail(Failure(errc::malformed, fmt::format("{}, before byte {}", text, offset())));
}

bool Decoder::fail(const Failure& failure) {
  if (!failure_) {
    failure_ = failure;
  }
  at_ = end_;
  return false;
}

bool Decoder::fail_expecting(std::string_view expected) {
  if (failure_) {
    return false;
  }
  const Head found = head();
  std::string text =
      fmt::format("{} expected at byte {}, found {}", expected, offset(), description_of(found, remaining()));
  if (has_content(found.kind) && found.number > remaining() - found.size) {
    text += fmt::format(", of which {} are there", remaining() - found.size);
  } else if (least_content(found) > remaining() - found.size) {
    text += ", more than the bytes that follow can hold";
  }
  return fail(Failure(errc::malformed, std::move(text)));
}

bool Decoder::read_nil() {
  if (!next_is_nil()) {
    return fail_expecting("nil");
  }
  ++at_;
  return true;
}

bool Decoder::read_boolean(bool& out) {
  const Head found = head();
  if (found.kind != Head::Kind::boolean) {
    return fail_expecting("bool");
  }
  out = found.number != 0;
  ++at_;
  return true;
}

bool Decoder::read_integer_between(std::int64_t lowest, std::uint64_t highest, std::string_view name,
                                   std::uint64_t& bits) {
  const Head found = head();
  const bool fits = found.kind == Head::Kind::positive   ? found.number <= highest
                    : found.kind == Head::Kind::negative ? static_cast<std::int64_t>(found.number) >= lowest
                                                         : false;
  if (!fits) {
    return fail_expecting(name);
  }
  bits = found.number;
  at_ += found.size;
  return true;
}

bool Decoder::read_float32(float& out) {
  const Head found = head();
  if (found.kind == Head::Kind::float32) {
    out = std::bit_cast<float>(static_cast<std::uint32_t>(found.number));
  } else {
    const double wide = std::bit_cast<double>(found.number);
    // Rounding to nearest overflows from halfway between float's maximum and the next power of two.
    constexpr double kOverflow = 0x1.ffffffp127;
    if (found.kind != Head::Kind::float64 || (std::isfinite(wide) && std::abs(wide) >= kOverflow)) {
      return fail_expecting("f32");
    }
    out = static_cast<float>(wide);
  }
  at_ += found.size;
  return true;
}

bool Decoder::read_float64(double& out) {
  const Head found = head();
  if (found.kind == Head::Kind::float64) {
    out = std::bit_cast<double>(found.number);
  } else if (found.kind == Head::Kind::float32) {
    out = static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(found.number)));
  } else {
    return fail_expecting("f64");
  }
  at_ += found.size;
  return true;
}

bool Decoder::read_content(Head::Kind kind, std::string_view expected, Head& found, ByteView& out) {
  found = head();
  if (found.kind != kind || found.number > remaining() - found.size) {
    return fail_expecting(expected);
  }
  out = ByteView(at_ + found.size, static_cast<std::size_t>(found.number));
  at_ = out.data() + out.size();
  return true;
}

bool Decoder::read_string(std::string_view& out) {
  Head found;
  ByteView content;
  if (!read_content(Head::Kind::string, "str", found, content)) {
    return false;
  }
  out = as_text(content);
  return true;
}

bool Decoder::read_binary(ByteView& out) {
  Head found;
  return read_content(Head::Kind::binary, "bytes", found, out);
}

bool Decoder::read_ext(Ext& out) {
  Head found;
  if (!read_content(Head::Kind::ext, "ext", found, out.bytes)) {
    return false;
  }
  out.type = found.ext_type;
  return true;
}

bool Decoder::read_ext(std::int8_t type, ByteView& out) {
  const Head next = head();
  if (next.kind != Head::Kind::ext || next.ext_type != type || next.number > remaining() - next.size) {
    return fail_expecting(fmt::format("ext type {}", type));
  }
  Head found;
  return read_content(Head::Kind::ext, "ext", found, out);
}

bool Decoder::claim(std::uint32_t count, std::size_t minimum) {
  const std::size_t free = remaining() > claimed_ ? remaining() - claimed_ : 0;
  if (count > free / minimum) {
    return fail(Failure(errc::malformed,
                        fmt::format("{} values of at least {} bytes each cannot be in the {} bytes after byte {}",
                                    count, minimum, free, offset())));
  }
  claimed_ += std::uint64_t{count} * minimum;
  return true;
}

bool Decoder::begin_nested() {
  if (depth_ == kDepthLimit) {
    return fail(Failure(errc::malformed, fmt::format("values nest deeper than {} at byte {}", kDepthLimit, offset())));
  }
  ++depth_;
  return true;
}

bool Decoder::begin(Head::Kind kind, std::string_view expected, std::uint32_t& count) {
  const Head found = head();
  if (found.kind != kind || least_content(found) > remaining() - found.size) {
    return fail_expecting(expected);
  }
  if (!begin_nested()) {
    return false;
  }
  count = static_cast<std::uint32_t>(found.number);
  at_ += found.size;
  return true;
}

bool Decoder::begin_array(std::uint32_t& count) {
  return begin(Head::Kind::array, "array", count);
}

bool Decoder::begin_map(std::uint32_t& pairs) {
  return begin(Head::Kind::map, "map", pairs);
}

bool Decoder::begin_array_of(std::uint32_t count) {
  const Head found = head();
  if (found.kind != Head::Kind::array || found.number != count) {
    return fail_expecting(fmt::format("an array of {}", count));
  }
  if (!begin_nested()) {
    return false;
  }
  at_ += found.size;
  return true;
}

// Iterative, so that nesting takes no stack: `pending` values are still to be passed over. Each takes at least a byte,
// so that a count nobody can keep ends at the last byte.
bool Decoder::skip() {
  std::uint64_t pending = 1;
  while (pending > 0) {
    const Head found = head();
    if (found.kind == Head::Kind::cut || found.kind == Head::Kind::invalid) {
      return fail_expecting("a value");
    }
    const std::size_t behind = remaining() - found.size;
    if (has_content(found.kind) && found.number > behind) {
      return fail_expecting("a value");
    }
    pending += least_content(found) - 1;
    at_ += found.size + (has_content(found.kind) ? static_cast<std::size_t>(found.number) : 0);
  }
  return true;
}

bool Decoder::finish() {
  if (failure_) {
    return false;
  }
  if (at_ != end_) {
    return fail(Failure(errc::malformed,
                        fmt::format("the end expected at byte {}, found {} more bytes", offset(), remaining())));
  }
  return true;
}

}  // namespace ferry::wire
