// A file with a job's secret in a folder of its own, removed with it.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include <ferry/process/bootstrap.hpp>
#include <ferry/system/random_bytes.hpp>

namespace ferry::run_tests {

class SecretFile {
 public:
  SecretFile() {
    std::string folder = (std::filesystem::temp_directory_path() / "ferry-secret-XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr) {
      throw std::system_error(errno, std::generic_category(), folder);
    }
    folder_ = folder;
    JobSecret secret{};
    system::random_bytes(std::span(secret));
    std::string digits;
    for (const std::byte byte : secret) {
      digits += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
    }
    write(digits + "\n");
    permit(0600);
  }
  ~SecretFile() { std::filesystem::remove_all(folder_); }
  SecretFile(const SecretFile&) = delete;
  SecretFile& operator=(const SecretFile&) = delete;

  std::string path() const { return (folder_ / "secret").string(); }
  void write(const std::string& contents) const { std::ofstream(path()) << contents; }
  void permit(mode_t mode) const { ::chmod(path().c_str(), mode); }

 private:
  std::filesystem::path folder_;
};

}  // namespace ferry::run_tests
