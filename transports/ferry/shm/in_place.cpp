// The inner loop: an access that is done at once, in memory that is mapped here. In one file, so that it compiles to
// one function for each kind: the calls between its parts would take longer than what they do.
#include <ferry/base/limits.hpp>
#include <ferry/memory/execute.hpp>
#include <ferry/shm/shm_channel.hpp>

namespace ferry::shm {

// Where the referenced range begins in this process; null if anything stands against touching it here and now.
inline std::byte* ShmChannel::find_in_place(OperationKind kind, const RemoteRegion& region) noexcept {
  const TransportKey* const key = region.key_for(TransportId::shm);
  Shared& shared = *shared_;
  if (key == nullptr || key->key == 0 || !shared.is_admitted()) {
    return nullptr;
  }
  const RegionEntry* const entry = shared.board.entry(region.slot);
  if (entry == nullptr || entry->generation() != region.generation.value() || !entry->matches(*key, region.size) ||
      !permits(entry->rights() & region.rights, access_needed(kind))) {
    return nullptr;
  }
  const SegmentMap::Mapping mapping = shared.segments.find(key->key, kind != OperationKind::read);
  if (mapping.base == nullptr || key->address > mapping.size || region.size > mapping.size - key->address) {
    return nullptr;
  }
  return mapping.base + key->address + region.offset;
}

inline bool ShmChannel::try_transfer(OperationKind kind, const RemoteRegion& region, std::byte* local) noexcept {
  std::byte* const remote = find_in_place(kind, region);
  if (remote == nullptr) {
    return false;
  }
  if (kind == OperationKind::read) {
    copy_words(local, remote, region.length);
  } else {
    copy_words(remote, local, region.length);
  }
  return true;
}

inline bool ShmChannel::try_atomic(const OperationRequest& request, std::uint64_t& old) noexcept {
  std::byte* const base = find_in_place(request.kind, request.region);
  if (base == nullptr || request.region.domain == AtomicDomain::nic) {
    return false;
  }
  std::byte* const word = base + request.single.remote_offset;
  if (reinterpret_cast<std::uintptr_t>(word) % sizeof(std::uint64_t) != 0) {
    return false;
  }
  old = execute_atomic(atomic_kind(request.kind), word, request.operand, request.expected);
  return true;
}

bool ShmConnection::try_transfer(OperationKind kind, const RemoteRegion& region, std::byte* local) noexcept {
  Reader* const reader = node_.readers.mine();
  if (reader == nullptr || !region.generation || region.length > limits::kPieceBytes) [[unlikely]] {
    return false;
  }
  const Reading reading(*reader, region.generation);
  ShmChannel* const channel = channel_.load(std::memory_order_seq_cst);
  return channel != nullptr && channel->try_transfer(kind, region, local);
}

bool ShmConnection::try_atomic(const OperationRequest& request, std::uint64_t& old) noexcept {
  Reader* const reader = node_.readers.mine();
  if (reader == nullptr || !request.region.generation) [[unlikely]] {
    return false;
  }
  const Reading reading(*reader, request.region.generation);
  ShmChannel* const channel = channel_.load(std::memory_order_seq_cst);
  return channel != nullptr && channel->try_atomic(request, old);
}

}  // namespace ferry::shm
