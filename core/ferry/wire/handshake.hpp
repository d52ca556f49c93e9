// The handshake block: the first bytes that each side of a channel sends, and the choice of a version from two of them.
// README.md has the format in prose.
//
//   offset  0  8 bytes  "FERRYv01"
//           8  u16      lowest version that the sender speaks, at least 1
//          10  u16      highest version
//          12  u64      feature bits; who sets one may use the feature if the other has set it too
//          20  u32      bytes of the optional fields that follow
//          24  fields   each u16 type, u16 length, that many bytes; no type twice
//
// This layout never changes: it is what processes of any two versions can read of each other. A field of an unknown
// type is skipped; what must not be skipped is a version or a feature. Authentication is not its business. Plain
// values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <ferry/base/result.hpp>
#include <ferry/wire/bytes.hpp>

namespace ferry::wire {

inline constexpr std::string_view kHandshakeMagic = "FERRYv01";
inline constexpr std::size_t kHandshakeHeadSize = 24;
inline constexpr std::uint32_t kHandshakeFieldsLimit = 4096;  // bytes

struct VersionRange {
  std::uint16_t lowest = 1;
  std::uint16_t highest = 1;

  friend bool operator==(const VersionRange&, const VersionRange&) = default;
};

struct HandshakeField {
  std::uint16_t type = 0;
  Bytes value;  // at most 65535 bytes

  friend bool operator==(const HandshakeField&, const HandshakeField&) = default;
};

struct Handshake {
  VersionRange versions;
  std::uint64_t features = 0;
  std::vector<HandshakeField> fields;  // at most kHandshakeFieldsLimit bytes, four for each field included

  // The value of an optional field, if it is there.
  std::optional<ByteView> field(std::uint16_t type) const noexcept;
};

Bytes encode_handshake(const Handshake& handshake);

// How many bytes of fields follow a head of kHandshakeHeadSize bytes; what a stream needs to know to read the rest.
Result<std::uint32_t> handshake_fields_size(ByteView head);

// The whole block: head and fields and nothing behind them.
Result<Handshake> decode_handshake(ByteView block);

// The highest version that both speak; version_mismatch, naming both ranges and the remedy, if there is none.
Result<std::uint16_t> negotiate(VersionRange ours, VersionRange theirs);

}  // namespace ferry::wire
