#include <ferry/queue/work.hpp>

namespace ferry::queue {

std::string_view to_string(WorkStatus status) noexcept {
  switch (status) {
    case WorkStatus::success:
      return "success";
    case WorkStatus::remote_refusal:
      return "refused by the other end";
    case WorkStatus::local_refusal:
      return "local memory out of reach";
    case WorkStatus::receiver_not_ready:
      return "no receive posted at the other end";
    case WorkStatus::unreachable:
      return "not acknowledged by the other end";
    case WorkStatus::flushed:
      return "flushed";
  }
  return "unknown";
}

}  // namespace ferry::queue
