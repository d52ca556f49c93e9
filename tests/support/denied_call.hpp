// DeniedCall: lets the n-th call of a function fail that a test replaces at link time (-Wl,--wrap=SYMBOL), so that each
// of them fails once in a loop over n. One at a time.
#pragma once

#include <atomic>

namespace ferry::test {

class DeniedCall {
 public:
  // nth: from 1 on.
  explicit DeniedCall(int nth) noexcept { left().store(nth); }
  ~DeniedCall() { left().store(0); }
  DeniedCall(const DeniedCall&) = delete;
  DeniedCall& operator=(const DeniedCall&) = delete;

  // Whether there have been so many calls.
  bool has_happened() const noexcept { return left().load() <= 0; }

  // For the replacement: true if this call shall fail.
  static bool is_now() noexcept { return left().load() > 0 && left().fetch_sub(1) == 1; }

 private:
  static std::atomic<int>& left() noexcept {
    static constinit std::atomic<int> calls{0};
    return calls;
  }
};

}  // namespace ferry::test
