// Doorbell: an eventfd that wakes a process's poller. OwnDoorbell is this process's, of which peers get a duplicate;
// PeerDoorbell is a peer's.
//
// Rung only when the other side's board says that it sleeps. Any thread.
#pragma once

#include <ferry/base/result.hpp>
#include <ferry/shm/file_descriptor.hpp>

namespace ferry::shm {

class OwnDoorbell {
 public:
  static Result<OwnDoorbell> create();

  int descriptor() const noexcept { return eventfd_.get(); }
  void drain() const noexcept;

 private:
  explicit OwnDoorbell(FileDescriptor eventfd) noexcept : eventfd_(std::move(eventfd)) {}

  FileDescriptor eventfd_;
};

class PeerDoorbell {
 public:
  // malformed if writing to the descriptor could block.
  static Result<PeerDoorbell> adopt(FileDescriptor descriptor);

  void ring() const noexcept;

 private:
  explicit PeerDoorbell(FileDescriptor eventfd) noexcept : eventfd_(std::move(eventfd)) {}

  FileDescriptor eventfd_;
};

}  // namespace ferry::shm
