// NicWatch: who is told what NICs do to memory. A world that looks for findings has one; else there is none.
//
// Called as it happens, after the bytes have moved; must not call back.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ferry/sim/ids.hpp>
#include <ferry/wire/bytes.hpp>

namespace ferry::sim {

class NicWatch {
 public:
  // The NIC of process `at` wrote these bytes of its memory, for a put of process `from`; from none: on behalf of `at`
  // itself (the result of a get), or of an atomic.
  virtual void on_write(ProcessNumber from, ProcessNumber at, const std::byte* bytes,
                        std::uint64_t length) noexcept = 0;
  // It sampled them for a get of process `from`.
  virtual void on_read(ProcessNumber from, ProcessNumber at, const std::byte* bytes, std::uint64_t length) noexcept = 0;
  // A Send was posted to queue pair `queue`, on its way from one process to the other.
  virtual void on_send_posted(QueueNumber queue, ProcessNumber from, ProcessNumber to,
                              wire::ByteView message) noexcept = 0;
  // It has arrived, behind what was before it; the CPU of `to` is about to see it.
  virtual void on_send(QueueNumber queue, ProcessNumber from, ProcessNumber to, wire::ByteView message) noexcept = 0;

 protected:
  ~NicWatch() = default;
};

}  // namespace ferry::sim
