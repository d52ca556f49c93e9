// What is posted to a queue pair, and what comes back: values in the words of the field.
//
// The order of requests on one queue pair is what its device's OrderClass promises and no more; between queue pairs
// there is none, even after completions were seen. Memory that a request names is the device's from post() until the
// completion of that request, or of a later one on the same queue pair.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ferry::queue {

enum class Verb : std::uint8_t {
  put,           // local bytes to remote ones ("RDMA write")
  get,           // remote bytes to local ones ("RDMA read")
  fetch_add,     // on a remote 8-byte word, by the device; the old value to local memory
  compare_swap,  // same
  send,          // local bytes into the memory of the next receive posted at the other end
  flush,         // moves nothing; completes when every earlier put of this queue pair is in memory
};

// What reaches remote memory: a key of the owner's device, and the address that goes with it.
struct RemoteAddress {
  std::uint32_t key = 0;
  std::uint64_t address = 0;
};

struct WorkRequest {
  std::uint64_t id = 0;  // comes back in its completion
  Verb verb = Verb::put;
  bool fenced = false;         // not begun before earlier gets and atomics of this queue pair have ended
  bool signaled = true;        // false: it completes in silence, unless it fails
  bool has_immediate = false;  // put, send: the other end's receive completion carries `immediate`, behind all bytes
  std::uint32_t immediate = 0;
  std::byte* local = nullptr;  // of put and send: only read
  std::uint32_t local_key = 0;
  std::uint64_t length = 0;       // bytes, at most DeviceLimits::message; atomics: 8
  RemoteAddress remote{};         // put, get, atomics; not looked at if length is 0
  std::uint64_t operand = 0;      // fetch_add: addend; compare_swap: the new value
  std::uint64_t expected = 0;     // compare_swap
  std::uint32_t invalidates = 0;  // send: a key of the other end that is dead before its receive completes; 0: none
};

enum class WorkStatus : std::uint8_t {
  success,
  remote_refusal,      // the other end refused its key, range or right; nothing behind it on the queue pair executed
  local_refusal,       // the local memory could not be reached
  receiver_not_ready,  // the other end posted no receive for it, however often it was tried
  unreachable,         // the other end did not acknowledge it, however often it was tried
  flushed,             // the queue pair had stopped; it may have executed
};
std::string_view to_string(WorkStatus status) noexcept;

// Of a request, or of a receive.
struct WorkCompletion {
  std::uint64_t id = 0;
  WorkStatus status = WorkStatus::success;
  std::uint32_t vendor_code = 0;  // the device's own word for it; 0: none
  bool is_receive = false;
  bool has_immediate = false;  // of a receive
  std::uint32_t immediate = 0;
  std::uint64_t length = 0;  // of a receive: bytes that a send brought
};

}  // namespace ferry::queue
