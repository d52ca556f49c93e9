#include <ferry/process/bootstrap.hpp>

#include <ferry/wire/codec.hpp>

namespace ferry {
namespace {

struct WireAddress {
  std::uint8_t transport = 0;
  std::string text;
};

// What travels; the fields stand for those of Bootstrap.
struct Form {
  std::uint32_t version = 0;
  std::vector<std::byte> secret;
  std::array<std::uint64_t, 4> ids{};  // self, parent
  std::string name;
  std::vector<WireAddress> parent;
  std::string transports;
  std::uint64_t frame_bytes = 0;
  std::array<std::int64_t, 5> limits{};
};
constexpr std::uint32_t kVersion = 1;

}  // namespace

wire::Bytes encode_bootstrap(const Bootstrap& bootstrap) {
  Form form;
  form.version = kVersion;
  form.secret.assign(bootstrap.secret.begin(), bootstrap.secret.end());
  form.ids = {bootstrap.self.id, bootstrap.self.incarnation, bootstrap.parent.id.id, bootstrap.parent.id.incarnation};
  form.name = bootstrap.name;
  for (const Address& address : bootstrap.parent.addresses) {
    form.parent.push_back({static_cast<std::uint8_t>(address.transport), address.text});
  }
  form.transports = bootstrap.transports;
  const NodeLimits& limits = bootstrap.limits;
  form.frame_bytes = limits.frame_bytes;
  form.limits = {limits.no_progress.count(), limits.quiet_grace.count(), limits.heartbeat.count(),
                 limits.failure_detection.count(), limits.handshake.count()};
  wire::Bytes bytes;
  wire::encode(bytes, form);
  return bytes;
}

Result<Bootstrap> decode_bootstrap(wire::ByteView bytes) {
  auto decoded = wire::decode<Form>(bytes);
  if (!decoded) {
    return decoded.error();
  }
  const Form& form = *decoded;
  Bootstrap bootstrap;
  if (form.version != kVersion || form.secret.size() != bootstrap.secret.size()) {
    return Failure(errc::version_mismatch,
                   "the parent was built from another version of ferry; start the same build everywhere");
  }
  std::copy(form.secret.begin(), form.secret.end(), bootstrap.secret.begin());
  bootstrap.self = {form.ids[0], form.ids[1]};
  bootstrap.parent.id = {form.ids[2], form.ids[3]};
  bootstrap.name = form.name;
  for (const WireAddress& address : form.parent) {
    bootstrap.parent.addresses.push_back({static_cast<TransportId>(address.transport), address.text});
  }
  bootstrap.transports = form.transports;
  bootstrap.limits.frame_bytes = form.frame_bytes;
  bootstrap.limits.no_progress = Duration(form.limits[0]);
  bootstrap.limits.quiet_grace = Duration(form.limits[1]);
  bootstrap.limits.heartbeat = Duration(form.limits[2]);
  bootstrap.limits.failure_detection = Duration(form.limits[3]);
  bootstrap.limits.handshake = Duration(form.limits[4]);
  return bootstrap;
}

}  // namespace ferry
