// Inside: this thread is within a function of some object, for as long as this value lives; so that an object which
// waits until nobody is within it does not wait for the very thread that asks.
//
// Lives on the stack. One thread each.
#pragma once

namespace ferry::queue {

class Inside {
 public:
  explicit Inside(const void* object) noexcept : object_(object), below_(innermost) { innermost = this; }
  ~Inside() { innermost = below_; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  // How often this thread is within the object.
  static int depth(const void* object) noexcept {
    int depth = 0;
    for (const Inside* each = innermost; each != nullptr; each = each->below_) {
      depth += each->object_ == object ? 1 : 0;
    }
    return depth;
  }

 private:
  static inline thread_local const Inside* innermost = nullptr;

  const void* object_;
  const Inside* below_;
};

}  // namespace ferry::queue
