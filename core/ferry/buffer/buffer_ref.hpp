// BufferRef: a reference to registered memory of some process. The value that messages carry.
//
// Names a range of a region, the rights on it, the owner's life and the region's generation. Copying it copies no
// memory and keeps nothing alive: the owner may revoke the memory at any time, and then every use fails with `revoked`.
// Any thread may use it. It belongs to the Node that minted, received or parsed it and must not be used after that Node
// has ended; to_text() leaves the Node.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include <ferry/buffer/options.hpp>
#include <ferry/buffer/transfer.hpp>
#include <ferry/memory/region.hpp>
#include <ferry/wire/codec.hpp>

namespace ferry {

class NodeCore;
class Peer;

namespace detail {
// A span of Chunks is a list of pieces, never the bytes of the list.
template <class T>
inline constexpr bool kIsData = std::is_trivially_copyable_v<T> && !std::is_same_v<std::remove_const_t<T>, Chunk>;

template <class T>
inline constexpr bool kIsSpan = false;
template <class T, std::size_t N>
inline constexpr bool kIsSpan<std::span<T, N>> = true;

// What no operation takes as its local memory, and is told so (refuse_local).
template <class Local, bool Read>
inline constexpr bool kIsRefused = !std::convertible_to<const Local&, std::span<const Chunk>>;
template <class T, std::size_t N, bool Read>
inline constexpr bool kIsRefused<std::span<T, N>, Read> = (!kIsData<T> || (Read && std::is_const_v<T>)) &&
                                                          !std::convertible_to<std::span<T, N>, std::span<const Chunk>>;

template <class Local, bool Read>
constexpr void refuse_local() {
  static_assert(kIsSpan<Local>,
                "the local memory is given as a span, with exactly as many bytes as the reference: write "
                "read_into(std::span(values)), write_from(std::span(values)); a vector does not convert, so that the "
                "length stands where it is read");
  if constexpr (kIsSpan<Local>) {
    using T = typename Local::element_type;
    static_assert(
        !Read || !std::is_const_v<T>,
        "read_into writes to its local memory, and this span is of const elements: give it a span of what may "
        "be changed");
    static_assert(std::is_trivially_copyable_v<T>,
                  "the bytes of these elements are no values elsewhere, as they hold pointers or the like: give a span "
                  "of trivially copyable elements");
  }
}
}  // namespace detail

class BufferRef {
 public:
  // An empty reference; every operation fails with invalid_argument.
  BufferRef() noexcept = default;
  BufferRef(Peer& owner, const RemoteRegion& region) noexcept : peer_(&owner), region_(region) {}

  explicit operator bool() const noexcept { return peer_ != nullptr; }

  std::uint64_t size() const noexcept { return region_.length; }  // bytes of the referenced range
  Access rights() const noexcept { return region_.rights; }
  MemoryKind kind() const noexcept { return region_.kind; }
  AtomicDomain atomics() const noexcept { return region_.domain; }
  ProcessId owner() const noexcept { return region_.owner; }

  // A reference to a part; offset in bytes from this one's start. Throws Error (invalid_range).
  BufferRef subrange(std::uint64_t offset, std::uint64_t length) const;
  // A reference to the same range with no more than these rights.
  BufferRef with_rights(Access rights) const noexcept;

  // Copies the referenced range into `local`, which must have exactly its size. Complete when every byte is there.
  // No snapshot: bytes may be from different moments.
  template <class T, std::size_t N>
  requires(detail::kIsData<T> && !std::is_const_v<T>) Transfer read_into(std::span<T, N> local)
  const { return Transfer(peer_, OperationKind::read, region_, whole(local)); }
  template <class T, std::size_t N>
  requires(detail::kIsData<T> && !std::is_const_v<T>) Transfer read_into(std::span<T, N> local, const Limits& limits)
  const { return Transfer(peer_, OperationKind::read, region_, whole(local), limits); }
  Transfer read_into(std::span<const Chunk> chunks, const Limits& limits = {}) const;
  // Anything else: does not compile, and says what to write.
  template <class Local>
  requires(detail::kIsRefused<std::remove_cvref_t<Local>, true>) Transfer read_into(Local&&, const Limits& = {})
  const {
    detail::refuse_local<std::remove_cvref_t<Local>, true>();
    return Transfer(nullptr, OperationKind::read, {}, {});
  }

  // Copies `local`, which must have exactly the size of the referenced range, there. Completion: see WriteOptions.
  template <class T, std::size_t N>
  requires(detail::kIsData<T>) Transfer write_from(std::span<T, N> local)
  const { return Transfer(peer_, OperationKind::write, region_, whole(local)); }
  template <class T, std::size_t N>
  requires(detail::kIsData<T>) Transfer write_from(std::span<T, N> local, const WriteOptions& options)
  const {
    Transfer transfer(peer_, OperationKind::write, region_, whole(local), Limits{options.timeout, options.stop});
    set_write(transfer.request(), options);
    return transfer;
  }
  Transfer write_from(std::span<const Chunk> chunks, const WriteOptions& options = {}) const;
  template <class Local>
  requires(detail::kIsRefused<std::remove_cvref_t<Local>, false>) Transfer write_from(Local&&, const WriteOptions& = {})
  const {
    detail::refuse_local<std::remove_cvref_t<Local>, false>();
    return Transfer(nullptr, OperationKind::write, {}, {});
  }

  // On an aligned 8-byte word at options.offset, in the owner's byte order; the old value. Executed exactly once.
  AtomicTransfer fetch_add(std::uint64_t value, const AtomicOptions& options = {}) const;
  AtomicTransfer compare_swap(std::uint64_t expected, std::uint64_t desired, const AtomicOptions& options = {}) const;
  AtomicTransfer swap(std::uint64_t value, const AtomicOptions& options = {}) const;

  // Complete when every transmitted write of this process to the owner's process that was started before is visible
  // there. Reports writes that were lost meanwhile (outcome_unknown).
  Transfer flush(const Limits& limits = {}) const;

  // The reference with the owner's addresses as one line of text, through etcd, HTTP or a file. Anyone in the same job
  // can use it.
  std::string to_text() const;
  // Throws Error (malformed). `Context` gives its NodeCore.
  static BufferRef from_text(NodeCore& node, std::string_view text);

  const RemoteRegion& region() const noexcept { return region_; }
  Peer* peer() const noexcept { return peer_; }

 private:
  // All of `local`; where it is const, it is only read.
  template <class T, std::size_t N>
  static Chunk whole(std::span<T, N> local) noexcept {
    return Chunk{0, const_cast<std::byte*>(reinterpret_cast<const std::byte*>(local.data())), local.size_bytes()};
  }
  static void set_write(OperationRequest& operation, const WriteOptions& options) noexcept {
    operation.completion = options.completion;
    if (options.notify) {
      operation.notify = true;
      operation.tag = *options.notify;
    }
  }
  AtomicTransfer atomic(OperationKind kind, std::uint64_t operand, std::uint64_t expected,
                        const AtomicOptions& options) const noexcept;

  Peer* peer_ = nullptr;
  RemoteRegion region_{};
};

// The wire form of a reference: the region (memory/region_codec.hpp) and as many of the owner's addresses as fit.
wire::Bytes encode_reference(const BufferRef& reference);
Result<BufferRef> decode_reference(NodeCore& node, wire::ByteView bytes);

template <>
struct wire::Codec<BufferRef> {
  static constexpr std::string_view kName = "ferry.buffer_ref";
  static constexpr std::int8_t kExt = 1;
  static void encode(Encoder& encoder, const BufferRef& reference);
  static Result<BufferRef> decode(Decoder& decoder);
};

}  // namespace ferry
