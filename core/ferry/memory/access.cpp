#include <ferry/memory/access.hpp>

namespace ferry {

std::string to_string(Access access) {
  std::string text;
  const auto add = [&](Access right, const char* name) {
    if (permits(access, right)) {
      text += text.empty() ? "" : "|";
      text += name;
    }
  };
  add(Access::read, "read");
  add(Access::write, "write");
  add(Access::atomic, "atomic");
  return text.empty() ? "none" : text;
}

}  // namespace ferry
