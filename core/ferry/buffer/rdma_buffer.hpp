// RDMABuffer: memory that peers may reach through references: a view, nothing is copied and nothing allocated.
//
// Move-only; the memory is the user's and must outlive it. Overlapping and repeated registration is allowed; each lives
// and dies alone. The destructor revokes: once it returns, no peer can touch the memory through any reference (a peer
// stopped inside a copy of shared memory cannot be silenced: that memory is then never used again, and a line logged).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include <ferry/base/task.hpp>
#include <ferry/buffer/buffer_ref.hpp>
#include <ferry/buffer/registration.hpp>

namespace ferry {

// A stream of the tags of `write_from … {.notify = tag}`. A handle, which may outlive the buffer: then it ends.
class NotificationStream {
 public:
  explicit NotificationStream(Channel<std::uint64_t> channel) noexcept : channel_(std::move(channel)) {}

  // The next tag, in the order in which they became visible. Throws Error: revoked once the buffer is (or is no more)
  // and all tags are taken; timed_out; cancelled.
  Channel<std::uint64_t>::Next next(const Limits& limits = {}) { return channel_.next(limits); }

 private:
  Channel<std::uint64_t> channel_;
};

class RDMABuffer {
 public:
  // Empty; ref() of it throws.
  RDMABuffer() noexcept = default;
  explicit RDMABuffer(std::shared_ptr<Registration> registration) noexcept : registration_(std::move(registration)) {}
  RDMABuffer(RDMABuffer&&) noexcept = default;
  RDMABuffer& operator=(RDMABuffer&& other) noexcept;
  ~RDMABuffer();

  explicit operator bool() const noexcept { return registration_ != nullptr; }
  std::uint64_t size() const noexcept;  // bytes
  std::byte* data() const noexcept;

  // A reference to all of it. Rights beyond those of the registration are left out. Throws Error (revoked, or
  // invalid_argument on an empty buffer).
  BufferRef ref(Access rights = Access::all) const;

  // Ends when no peer can touch the memory through any of its references; then it may be freed or reused. Throws Error:
  // timed_out when a peer could not be silenced within the limit (default: NodeLimits::no_progress), cancelled on a
  // stop; the memory must then be kept, new accesses are refused already, and revoke() may be tried again.
  Task<void> revoke(Limits limits = {});

  // The tags of this buffer; peers can notify from the first call on, or from the registration
  // (RegisterOptions::notifications).
  NotificationStream notifications();

 private:
  std::shared_ptr<Registration> registration_;
};

// Registers memory with a node; the functions of Context and ActorContext are made of it. Throws Error.
template <class T, std::size_t N>
RDMABuffer register_memory(NodeCore& node, std::span<T, N> memory, RegisterOptions options = {},
                           RegistrationSet* owner = nullptr);
RDMABuffer register_bytes(NodeCore& node, std::byte* base, std::uint64_t size, RegisterOptions options,
                          RegistrationSet* owner);

template <class T, std::size_t N>
RDMABuffer register_memory(NodeCore& node, std::span<T, N> memory, RegisterOptions options, RegistrationSet* owner) {
  static_assert(std::is_trivially_copyable_v<T>, "peers copy bytes: registered elements must be trivially copyable");
  if constexpr (std::is_const_v<T>) {
    options.rights = options.rights & Access::read;
  }
  return register_bytes(node, const_cast<std::byte*>(reinterpret_cast<const std::byte*>(memory.data())),
                        memory.size_bytes(), options, owner);
}

namespace detail {
// For anything but a span: does not compile, and says what to write.
template <class Memory>
RDMABuffer refuse_memory() {
  static_assert(kIsSpan<std::remove_cvref_t<Memory>>,
                "what is registered is a span of memory that stays where it is and outlives the buffer: write "
                "register_memory(std::span(values))");
  return {};
}
template <class Memory>
concept NotASpan = !kIsSpan<std::remove_cvref_t<Memory>>;
}  // namespace detail

}  // namespace ferry
