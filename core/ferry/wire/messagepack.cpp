#include <ferry/wire/messagepack.hpp>

#include <ferry/wire/endian.hpp>

namespace ferry::wire {
namespace {

// The big-endian number of 1 << width_log2 bytes at `from`.
std::uint64_t number_at(const std::byte* from, unsigned width_log2) noexcept {
  switch (width_log2) {
    case 0:
      return load_big<std::uint8_t>(from);
    case 1:
      return load_big<std::uint16_t>(from);
    case 2:
      return load_big<std::uint32_t>(from);
    default:
      return load_big<std::uint64_t>(from);
  }
}

std::uint64_t sign_extended(std::uint64_t number, unsigned width_log2) noexcept {
  const unsigned unused = 64U - (8U << width_log2);
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(number << unused) >> unused);
}

class HeadParser {
 public:
  HeadParser(const std::byte* from, const std::byte* end) noexcept
      : from_(from), size_(static_cast<std::size_t>(end - from)) {}

  Head parse() const noexcept {
    using namespace marker;
    if (size_ == 0) {
      return {};
    }
    const std::uint8_t first = static_cast<std::uint8_t>(*from_);
    if (first <= kPositiveLast) {
      return complete(Head::Kind::positive, first);
    }
    if (first < kFixArray) {
      return complete(Head::Kind::map, first & 0x0fU);
    }
    if (first < kFixStr) {
      return complete(Head::Kind::array, first & 0x0fU);
    }
    if (first < kNil) {
      return complete(Head::Kind::string, first & 0x1fU);
    }
    if (first >= kNegativeFirst) {
      return complete(Head::Kind::negative, sign_extended(first, 0));
    }
    if (first >= kMap16) {
      return sized(Head::Kind::map, first - kMap16 + 1U);
    }
    if (first >= kArray16) {
      return sized(Head::Kind::array, first - kArray16 + 1U);
    }
    if (first >= kStr8) {
      return sized(Head::Kind::string, first - kStr8);
    }
    if (first >= kFixExt1) {
      return ext(1, std::uint64_t{1} << (first - kFixExt1));
    }
    if (first >= kInt8) {
      return signed_integer(first - kInt8);
    }
    if (first >= kUint8) {
      return sized(Head::Kind::positive, first - kUint8);
    }
    if (first >= kFloat32) {
      return first == kFloat32 ? sized(Head::Kind::float32, 2) : sized(Head::Kind::float64, 3);
    }
    if (first >= kExt8) {
      const Head length = sized(Head::Kind::ext, first - kExt8);
      return length.kind == Head::Kind::cut ? length : ext(length.size, length.number);
    }
    if (first >= kBin8) {
      return sized(Head::Kind::binary, first - kBin8);
    }
    if (first >= kFalse) {
      return complete(Head::Kind::boolean, first - kFalse);
    }
    return complete(first == kNil ? Head::Kind::nil : Head::Kind::invalid, 0);
  }

 private:
  static Head complete(Head::Kind kind, std::uint64_t number) noexcept { return {kind, 1, 0, number}; }

  Head sized(Head::Kind kind, unsigned width_log2) const noexcept {
    const std::size_t size = 1 + (std::size_t{1} << width_log2);
    if (size_ < size) {
      return {};
    }
    return {kind, static_cast<std::uint8_t>(size), 0, number_at(from_ + 1, width_log2)};
  }

  Head signed_integer(unsigned width_log2) const noexcept {
    Head head = sized(Head::Kind::positive, width_log2);
    if (head.kind != Head::Kind::cut) {
      head.number = sign_extended(head.number, width_log2);
      head.kind = static_cast<std::int64_t>(head.number) < 0 ? Head::Kind::negative : Head::Kind::positive;
    }
    return head;
  }

  // The type byte of an ext stands behind its marker and length, which take `size` bytes.
  Head ext(std::uint8_t size, std::uint64_t length) const noexcept {
    if (size_ <= size) {
      return {};
    }
    return {Head::Kind::ext, static_cast<std::uint8_t>(size + 1), static_cast<std::int8_t>(from_[size]), length};
  }

  const std::byte* from_;
  std::size_t size_;
};

}  // namespace

Head parse_head(const std::byte* from, const std::byte* end) noexcept {
  return HeadParser(from, end).parse();
}

}  // namespace ferry::wire
