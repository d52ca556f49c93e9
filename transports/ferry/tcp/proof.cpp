#include <ferry/tcp/proof.hpp>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <ferry/base/check.hpp>
#include <ferry/wire/writer.hpp>

namespace ferry::tcp {
namespace {

const unsigned char* octets(const std::byte* bytes) noexcept {
  return reinterpret_cast<const unsigned char*>(bytes);
}

}  // namespace

Result<Nonce> fresh_nonce() {
  Nonce nonce;
  if (::RAND_bytes(reinterpret_cast<unsigned char*>(nonce.data()), static_cast<int>(nonce.size())) != 1) {
    return Failure(errc::resource_exhausted, "the system gives no random numbers, which authentication needs");
  }
  return nonce;
}

Proof prove(const JobSecret& secret, std::string_view role, std::span<const wire::ByteView> transcript) {
  wire::Bytes message;
  wire::Writer writer(message);
  writer.u32(static_cast<std::uint32_t>(role.size()));
  writer.raw(wire::as_bytes(role));
  for (const wire::ByteView part : transcript) {
    writer.u32(static_cast<std::uint32_t>(part.size()));
    writer.raw(part);
  }
  Proof proof;
  unsigned int length = 0;
  const unsigned char* made =
      ::HMAC(::EVP_sha256(), secret.data(), static_cast<int>(secret.size()), octets(message.data()), message.size(),
             reinterpret_cast<unsigned char*>(proof.data()), &length);
  FERRY_CHECK(made != nullptr && length == proof.size());
  return proof;
}

bool is_same(const Proof& a, wire::ByteView b) noexcept {
  return a.size() == b.size() && ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace ferry::tcp
