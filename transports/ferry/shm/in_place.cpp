// The inner loop: an access that is done at once, in memory that is mapped here. In one file, so that it compiles to
// one function for each kind: the calls between its parts would take longer than what they do.
#include <ferry/base/limits.hpp>
#include <ferry/memory/execute.hpp>
#include <ferry/shm/shm_channel.hpp>

namespace ferry::shm {

inline bool ShmChannel::try_transfer(OperationKind kind, const RemoteRegion& region, std::byte* local) noexcept {
  const Found remote = find(kind, region);
  if (remote.reach != Reach::mapped) {
    return false;
  }
  if (kind == OperationKind::read) {
    copy_words(local, remote.base, region.length);
  } else {
    copy_words(remote.base, local, region.length);
  }
  return true;
}

inline bool ShmChannel::try_atomic(const OperationRequest& request, std::uint64_t& old) noexcept {
  const Found found = find(request.kind, request.region);
  if (found.reach != Reach::mapped || request.region.domain == AtomicDomain::nic) {
    return false;
  }
  std::byte* const word = found.base + request.single.remote_offset;
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
