#include <ferry/transport/contact_codec.hpp>

namespace ferry {
namespace {

constexpr std::size_t kContactRoom = 1024;  // for the addresses of one contact
constexpr std::size_t kMaxAddresses = 255;

}  // namespace

void encode_addresses(wire::Writer& writer, const std::vector<Address>& addresses, std::size_t room) {
  std::vector<const Address*> fitting;
  std::size_t used = 1;
  for (const Address& address : addresses) {
    const std::size_t size = 2 + address.text.size();
    if (address.text.size() <= Address::kMaxText && used + size <= room && fitting.size() < kMaxAddresses) {
      fitting.push_back(&address);
      used += size;
    }
  }
  writer.u8(static_cast<std::uint8_t>(fitting.size()));
  for (const Address* address : fitting) {
    writer.u8(static_cast<std::uint8_t>(address->transport));
    writer.u8(static_cast<std::uint8_t>(address->text.size()));
    writer.raw(wire::as_bytes(address->text));
  }
}

std::vector<Address> decode_addresses(wire::Reader& reader) {
  std::vector<Address> addresses;
  const std::uint8_t count = reader.u8();
  for (std::uint8_t index = 0; index < count && reader.ok(); ++index) {
    const std::uint8_t transport = reader.u8();
    const std::string_view text = wire::as_text(reader.raw(reader.u8()));
    if (reader.ok() && transport > 0 && transport <= static_cast<std::uint8_t>(TransportId::sim) &&
        text.size() <= Address::kMaxText) {
      addresses.push_back({static_cast<TransportId>(transport), std::string(text)});
    }
  }
  return addresses;
}

void encode_contact(wire::Writer& writer, const Contact& contact) {
  writer.u64(contact.id.id);
  writer.u64(contact.id.incarnation);
  encode_addresses(writer, contact.addresses, kContactRoom);
}

Result<Contact> decode_contact(wire::Reader& reader) {
  Contact contact;
  contact.id.id = reader.u64();
  contact.id.incarnation = reader.u64();
  contact.addresses = decode_addresses(reader);
  if (auto complete = reader.check("contact"); !complete) {
    return complete.error();
  }
  if (!contact.id) {
    return Failure(errc::malformed, "contact: the process id must not be zero");
  }
  return contact;
}

}  // namespace ferry
