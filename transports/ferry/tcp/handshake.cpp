#include <ferry/tcp/handshake.hpp>

#include <algorithm>

#include <fmt/format.h>

#include <ferry/transport/contact_codec.hpp>
#include <ferry/wire/reader.hpp>
#include <ferry/wire/writer.hpp>

namespace ferry::tcp {
namespace {

// Fields of the blocks.
constexpr std::uint16_t kHelloField = 1;   // of the initiator's block
constexpr std::uint16_t kAnswerField = 2;  // of the owner's

// Who proves.
constexpr std::string_view kOwnerRole = "ferry tcp 1 owner";
constexpr std::string_view kInitiatorRole = "ferry tcp 1 initiator";

constexpr std::size_t kTextBytes = 1024;  // of a refusal

void put_id(wire::Writer& writer, ProcessId id) {
  writer.u64(id.id);
  writer.u64(id.incarnation);
}

ProcessId get_id(wire::Reader& reader) {
  ProcessId id;
  id.id = reader.u64();
  id.incarnation = reader.u64();
  return id;
}

Nonce get_nonce(wire::Reader& reader) {
  Nonce nonce{};
  const wire::ByteView bytes = reader.raw(nonce.size());
  std::copy(bytes.begin(), bytes.end(), nonce.begin());
  return nonce;
}

wire::Bytes block_with(std::uint16_t type, wire::Bytes value) {
  wire::Handshake block;
  block.versions = kVersions;
  block.fields.push_back({type, std::move(value)});
  return wire::encode_handshake(block);
}

// The size of the block that `in` begins with; 0 if it is not all there. Refuses other protocols by their first bytes.
Result<std::size_t> whole_block(wire::ByteView in) {
  const std::size_t seen = std::min(in.size(), wire::kHandshakeMagic.size());
  if (wire::as_text(in.first(seen)) != wire::kHandshakeMagic.substr(0, seen)) {
    wire::Bytes head(in.first(seen));
    head.resize(wire::kHandshakeHeadSize);
    return wire::handshake_fields_size(head).error();
  }
  if (in.size() < wire::kHandshakeHeadSize) {
    return 0;
  }
  const auto fields = wire::handshake_fields_size(in.first(wire::kHandshakeHeadSize));
  if (!fields) {
    return fields.error();
  }
  const std::size_t size = wire::kHandshakeHeadSize + *fields;
  return in.size() < size ? 0 : size;
}

Result<wire::ByteView> needed_field(const wire::Handshake& block, std::uint16_t type) {
  const auto field = block.field(type);
  if (!field) {
    return Failure(errc::malformed, fmt::format("handshake: field {} expected, found none", type));
  }
  return *field;
}

wire::Bytes encode_introduction(const Introduction& introduction) {
  wire::Bytes bytes;
  wire::Writer writer(bytes);
  const std::string_view name = std::string_view(introduction.name).substr(0, kNameBytes);
  writer.u16(static_cast<std::uint16_t>(name.size()));
  writer.raw(wire::as_bytes(name));
  encode_addresses(writer, introduction.addresses, kIntroductionBytes - bytes.size());
  return bytes;
}

Result<Introduction> decode_introduction(wire::ByteView bytes) {
  wire::Reader reader(bytes);
  Introduction introduction;
  const wire::ByteView name = reader.raw(reader.u16());
  if (name.size() > kNameBytes) {
    return Failure(errc::malformed,
                   fmt::format("handshake: a name of at most {} bytes expected, found {}", kNameBytes, name.size()));
  }
  introduction.name = wire::as_text(name);
  introduction.addresses = decode_addresses(reader);
  if (auto complete = reader.finish("introduction"); !complete) {
    return complete.error();
  }
  return introduction;
}

}  // namespace

void drop_front(wire::Bytes& bytes, std::size_t count) {
  bytes = wire::Bytes(wire::ByteView(bytes).subspan(count));
}

Result<InitiatorHandshake> InitiatorHandshake::create(const JobSecret& secret, Hello hello, Introduction introduction) {
  auto nonce = fresh_nonce();
  if (!nonce) {
    return nonce.error();
  }
  hello.nonce = *nonce;
  return InitiatorHandshake(secret, hello, std::move(introduction));
}

InitiatorHandshake::InitiatorHandshake(const JobSecret& secret, Hello hello, Introduction introduction)
    : secret_(secret), hello_(hello), introduction_(std::move(introduction)) {
  wire::Bytes value;
  wire::Writer writer(value);
  writer.raw(hello_.nonce);
  put_id(writer, hello_.wanted);
  put_id(writer, hello_.self);
  writer.u64(hello_.channel);
  first_ = block_with(kHelloField, std::move(value));
  out_ = first_;
}

Result<bool> InitiatorHandshake::feed(wire::ByteView bytes) {
  in_.append(bytes);
  if (in_.size() > kHandshakeInput) {
    return Failure(errc::malformed, "handshake: more bytes than a handshake has");
  }
  if (!answered_) {
    auto answer = read_answer();
    if (!answer || !answered_) {
      return answer;
    }
  }
  return read_welcome();
}

Result<bool> InitiatorHandshake::read_answer() {
  const wire::ByteView in(in_.data(), in_.size());
  const auto size = whole_block(in);
  if (!size) {
    return size.error();
  }
  if (*size == 0) {
    return false;
  }
  const wire::ByteView second = in.first(*size);
  const auto block = wire::decode_handshake(second);
  if (!block) {
    return block.error();
  }
  if (auto version = wire::negotiate(kVersions, block->versions); !version) {
    return version.error();
  }
  const auto field = needed_field(*block, kAnswerField);
  if (!field) {
    return field.error();
  }
  wire::Reader reader(*field);
  static_cast<void>(get_nonce(reader));
  owner_ = get_id(reader);
  if (auto complete = reader.check("handshake answer"); !complete) {
    return complete.error();
  }
  if (in.size() < *size + sizeof(Proof)) {
    return false;
  }
  const std::array<wire::ByteView, 2> said{wire::ByteView(first_), second};
  if (!is_same(prove(secret_, kOwnerRole, said), in.subspan(*size, sizeof(Proof)))) {
    return Failure(errc::not_authorised,
                   "the process there does not know this job's secret: it belongs to another job, or the secret file "
                   "differs");
  }
  proved_ = true;
  if (owner_ != hello_.wanted) {
    const bool is_successor = owner_.id == hello_.wanted.id;
    return Failure(
        errc::stale_incarnation,
        fmt::format("process {} was wanted, but {} answers there: {}", to_string(hello_.wanted), to_string(owner_),
                    is_successor ? "it was restarted; get a new reference"
                                 : "it has ended, or it listens elsewhere; get a new reference"));
  }
  const wire::Bytes introduction = encode_introduction(introduction_);
  const std::array<wire::ByteView, 3> all{wire::ByteView(first_), second, wire::ByteView(introduction)};
  wire::Writer writer(out_);
  writer.u32(static_cast<std::uint32_t>(introduction.size()));
  writer.raw(prove(secret_, kInitiatorRole, all));
  writer.raw(introduction);
  answered_ = true;
  drop_front(in_, *size + sizeof(Proof));
  return false;
}

Result<bool> InitiatorHandshake::read_welcome() {
  wire::Reader reader(wire::ByteView(in_.data(), in_.size()));
  const std::uint8_t verdict = reader.u8();
  reader.raw(3);
  const std::size_t length = reader.u32();
  welcome_.session = reader.u64();
  if (!reader.ok()) {
    return false;
  }
  if (verdict > kErrcLast || length > kTextBytes) {
    return Failure(errc::malformed, "handshake: the verdict is no verdict");
  }
  const wire::ByteView text = reader.raw(length);
  if (!reader.ok()) {
    return false;
  }
  if (verdict != 0) {
    return Failure(static_cast<errc>(verdict), std::string(wire::as_text(text)));
  }
  if (auto complete = reader.finish("handshake welcome"); !complete) {
    return complete.error();
  }
  welcome_.name = wire::as_text(text);
  return true;
}

OwnerHandshake::OwnerHandshake(const JobSecret& secret, ProcessId self, const Nonce& nonce) noexcept
    : secret_(secret), self_(self), nonce_(nonce) {}

Result<OwnerHandshake> OwnerHandshake::create(const JobSecret& secret, ProcessId self) {
  auto nonce = fresh_nonce();
  if (!nonce) {
    return nonce.error();
  }
  return OwnerHandshake(secret, self, *nonce);
}

Result<bool> OwnerHandshake::feed(wire::ByteView bytes) {
  in_.append(bytes);
  if (in_.size() > kHandshakeInput || introduced_) {
    return Failure(errc::malformed, "handshake: more bytes than a handshake has");
  }
  if (!answered_) {
    auto answer = read_hello();
    if (!answer || !answered_) {
      return answer;
    }
  }
  return read_introduction();
}

Result<bool> OwnerHandshake::read_hello() {
  const wire::ByteView in(in_.data(), in_.size());
  const auto size = whole_block(in);
  if (!size) {
    return size.error();
  }
  if (*size == 0) {
    return false;
  }
  const auto block = wire::decode_handshake(in.first(*size));
  if (!block) {
    return block.error();
  }
  wire::Bytes value;
  wire::Writer writer(value);
  writer.raw(nonce_);
  put_id(writer, self_);
  second_ = block_with(kAnswerField, std::move(value));
  out_.append(second_);
  if (auto version = wire::negotiate(kVersions, block->versions); !version) {
    return version.error();
  }
  const auto field = needed_field(*block, kHelloField);
  if (!field) {
    return field.error();
  }
  wire::Reader reader(*field);
  hello_.nonce = get_nonce(reader);
  hello_.wanted = get_id(reader);
  hello_.self = get_id(reader);
  hello_.channel = reader.u64();
  if (auto complete = reader.check("handshake hello"); !complete) {
    return complete.error();
  }
  first_ = wire::Bytes(in.first(*size));
  const std::array<wire::ByteView, 2> said{wire::ByteView(first_), wire::ByteView(second_)};
  out_.append(prove(secret_, kOwnerRole, said));
  answered_ = true;
  drop_front(in_, *size);
  return false;
}

Result<bool> OwnerHandshake::read_introduction() {
  wire::Reader reader(wire::ByteView(in_.data(), in_.size()));
  const std::size_t length = reader.u32();
  if (reader.ok() && length > kIntroductionBytes) {
    return Failure(errc::malformed, fmt::format("handshake: an introduction of at most {} bytes expected, found {}",
                                                kIntroductionBytes, length));
  }
  const wire::ByteView proof = reader.raw(sizeof(Proof));
  const wire::ByteView introduction = reader.raw(length);
  if (!reader.ok()) {
    return false;
  }
  const std::array<wire::ByteView, 3> all{wire::ByteView(first_), wire::ByteView(second_), introduction};
  if (!is_same(prove(secret_, kInitiatorRole, all), proof)) {
    return Failure(errc::not_authorised,
                   "it does not know this job's secret: it belongs to another job, or the secret file differs");
  }
  if (auto complete = reader.finish("introduction"); !complete) {
    return complete.error();
  }
  if (hello_.wanted != self_ || !hello_.self || hello_.self == self_) {
    return Failure(errc::malformed, fmt::format("handshake: process {} wants {} of {}", to_string(hello_.self),
                                                to_string(hello_.wanted), to_string(self_)));
  }
  auto decoded = decode_introduction(introduction);
  if (!decoded) {
    return decoded.error();
  }
  introduction_ = std::move(*decoded);
  introduced_ = true;
  return true;
}

void OwnerHandshake::accept(const Welcome& welcome) {
  wire::Writer writer(out_);
  const std::string_view name = std::string_view(welcome.name).substr(0, kNameBytes);
  writer.u32(0);  // the verdict: welcome
  writer.u32(static_cast<std::uint32_t>(name.size()));
  writer.u64(welcome.session);
  writer.raw(wire::as_bytes(name));
}

void OwnerHandshake::refuse(const Failure& why) {
  wire::Writer writer(out_);
  const std::string_view text = std::string_view(why.detail()).substr(0, kTextBytes);
  writer.u32(static_cast<std::uint32_t>(why.code()));
  writer.u32(static_cast<std::uint32_t>(text.size()));
  writer.u64(0);
  writer.raw(wire::as_bytes(text));
}

}  // namespace ferry::tcp
