#include <ferry/run/secret_file.hpp>

#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <fstream>
#include <iterator>
#include <system_error>

#include <fmt/format.h>

namespace ferry {
namespace {

constexpr std::size_t kDigits = 2 * std::tuple_size_v<JobSecret>;

}  // namespace

Result<JobSecret> read_secret_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    return Failure(errc::invalid_argument,
                   fmt::format("the secret file {} cannot be read: {}", path, std::generic_category().message(errno)));
  }
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return Failure(errc::not_authorised,
                   fmt::format("others than its owner may use the secret file {}; run: chmod 600 {}", path, path));
  }
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) {
    text.pop_back();
  }
  JobSecret secret{};
  bool valid = text.size() == kDigits;
  for (std::size_t index = 0; valid && index < secret.size(); ++index) {
    unsigned value = 0;
    const char* digits = text.data() + 2 * index;
    const auto parsed = std::from_chars(digits, digits + 2, value, 16);
    valid = parsed.ec == std::errc() && parsed.ptr == digits + 2;
    secret[index] = static_cast<std::byte>(value);
  }
  if (!valid) {
    return Failure(
        errc::malformed,
        fmt::format("the secret file {} must hold {} hexadecimal digits; make one with: openssl rand -hex {}", path,
                    kDigits, secret.size()));
  }
  return secret;
}

}  // namespace ferry
