#include <ferry/transport/operation.hpp>

#include <fmt/format.h>

namespace ferry {

const char* to_string(OperationKind kind) noexcept {
  switch (kind) {
    case OperationKind::read:
      return "read_into";
    case OperationKind::write:
      return "write_from";
    case OperationKind::fetch_add:
      return "fetch_add";
    case OperationKind::compare_swap:
      return "compare_swap";
    case OperationKind::swap:
      return "swap";
    case OperationKind::flush:
      return "flush";
  }
  return "operation";
}

std::string describe(const OperationRequest& request) {
  const bool moves_bytes = request.kind == OperationKind::read || request.kind == OperationKind::write;
  return moves_bytes ? fmt::format("{} of {} bytes", to_string(request.kind), request.bytes())
                     : to_string(request.kind);
}

AtomicKind atomic_kind(OperationKind kind) noexcept {
  switch (kind) {
    case OperationKind::compare_swap:
      return AtomicKind::compare_swap;
    case OperationKind::swap:
      return AtomicKind::swap;
    default:
      return AtomicKind::fetch_add;
  }
}

}  // namespace ferry
