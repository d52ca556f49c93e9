// Staging: small pieces of memory that a device may use, registered once: for Sends, and for small operations on
// devices that reach registered memory alone.
//
// Owner: a lane's connection, longer than the queue pair that uses it. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <ferry/base/result.hpp>
#include <ferry/queue/device.hpp>

namespace ferry::queue {

class Staging;

// Posts a receive for every slot, whose number is its id.
Result<void> post_receives(QueuePair& queue, const Staging& receives);

class Staging {
 public:
  static constexpr std::uint16_t kNone = 0xffff;

  // resource_exhausted with the remedy. bytes: of a slot, a multiple of 8; slots: fewer than kNone.
  static Result<std::unique_ptr<Staging>> create(Device& device, std::size_t slots, std::size_t bytes);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // kNone: all are taken.
  std::uint16_t take() noexcept;
  void give_back(std::uint16_t slot) noexcept { free_.push_back(slot); }
  bool has_free() const noexcept { return !free_.empty(); }

  std::byte* at(std::uint16_t slot) const noexcept { return memory_.get() + slot * bytes_; }
  std::size_t bytes() const noexcept { return bytes_; }
  std::size_t slots() const noexcept { return slots_; }
  std::uint32_t key() const noexcept { return key_; }

 private:
  Staging(Device& device, std::size_t slots, std::size_t bytes);

  Device& device_;
  const std::size_t bytes_;
  const std::size_t slots_;
  const std::unique_ptr<std::byte[]> memory_;
  std::vector<std::uint16_t> free_;
  std::uint32_t key_ = 0;
  bool is_registered_ = false;
};

}  // namespace ferry::queue
