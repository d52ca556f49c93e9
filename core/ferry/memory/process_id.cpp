#include <ferry/memory/process_id.hpp>

#include <fmt/format.h>

namespace ferry {

std::string to_string(ProcessId id) {
  return fmt::format("{:x}/{:08x}", id.id, id.incarnation & 0xffffffffU);
}

}  // namespace ferry
