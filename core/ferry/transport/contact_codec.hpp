// The wire form of a Contact: u64 id, u64 incarnation, u8 count, then per address u8 transport, u8 length, the text.
// Unknown transports are passed over when decoding: newer peers may have more.
#pragma once

#include <ferry/base/result.hpp>
#include <ferry/transport/address.hpp>
#include <ferry/wire/reader.hpp>
#include <ferry/wire/writer.hpp>

namespace ferry {

void encode_contact(wire::Writer& writer, const Contact& contact);
Result<Contact> decode_contact(wire::Reader& reader);

// The list of addresses alone; at most `room` bytes of it, addresses that do not fit are left out.
void encode_addresses(wire::Writer& writer, const std::vector<Address>& addresses, std::size_t room);
std::vector<Address> decode_addresses(wire::Reader& reader);

}  // namespace ferry
