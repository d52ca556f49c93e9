#include <ferry/shm/job_proof.hpp>

#include <sys/random.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <ferry/base/check.hpp>
#include <ferry/wire/bytes.hpp>
#include <ferry/wire/writer.hpp>

namespace ferry::shm {

Proof prove(const JobSecret& secret, Role role, const Meeting& meeting) {
  wire::Bytes said;
  wire::Writer writer(said);
  writer.raw(wire::as_bytes("ferry shm meeting"));
  writer.u8(static_cast<std::uint8_t>(role));
  writer.u16(meeting.version);
  for (const ProcessId id : {meeting.initiator, meeting.owner}) {
    writer.u64(id.id);
    writer.u64(id.incarnation);
  }
  writer.raw(meeting.initiator_nonce);
  writer.raw(meeting.owner_nonce);
  Proof proof{};
  unsigned size = 0;
  const unsigned char* made = ::HMAC(::EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
                                     reinterpret_cast<const unsigned char*>(said.data()), said.size(),
                                     reinterpret_cast<unsigned char*>(proof.data()), &size);
  FERRY_CHECK(made != nullptr && size == proof.size());
  return proof;
}

bool is_proof(const JobSecret& secret, Role role, const Meeting& meeting, const Proof& proof) noexcept {
  const Proof right = prove(secret, role, meeting);
  return ::CRYPTO_memcmp(right.data(), proof.data(), proof.size()) == 0;
}

Nonce fresh_nonce() {
  Nonce nonce{};
  // Not from OpenSSL, which needs memory for its generator and fails where there is none. So few bytes are given whole.
  FERRY_CHECK(::getrandom(nonce.data(), nonce.size(), 0) == static_cast<ssize_t>(nonce.size()));
  return nonce;
}

}  // namespace ferry::shm
