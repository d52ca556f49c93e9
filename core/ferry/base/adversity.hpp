// Adversity: who decides that something unlikely happens now. The simulator does, for one world; real programs have
// none, and ask nobody.
//
// Owner: who makes it current on a thread, for as long as its world runs there. One thread. buggify.hpp is what other
// code calls.
#pragma once

#include <cstdint>
#include <string_view>

namespace ferry {

class Adversity;

namespace detail {
extern constinit thread_local Adversity* thread_adversity;
}  // namespace detail

class Adversity {
 public:
  // What a node allows to happen to it, at the places in core where real machines do it.
  enum class Strike : std::uint8_t {
    mailbox_full,        // a send that does not wait for room finds none
    endpoint_throws,     // an endpoint ends by an exception before it has begun
    registration_fails,  // the system has no locked memory left
  };

  // Null outside a simulated world: one load of a thread-local word.
  static Adversity* current() noexcept { return detail::thread_adversity; }
  static bool strikes_now(Strike strike) noexcept {
    Adversity* const adversity = current();
    return adversity != nullptr && adversity->strikes(strike);
  }

  virtual bool strikes(Strike strike) noexcept = 0;
  // See buggify.hpp. The names are kept by value.
  virtual bool buggify(std::string_view name) noexcept = 0;
  virtual void mark(std::string_view name, bool reached) noexcept = 0;

 protected:
  ~Adversity() = default;
};

// Makes it current on this thread until it is left; null: nobody.
class AdversityGuard {
 public:
  explicit AdversityGuard(Adversity* adversity) noexcept : outer_(detail::thread_adversity) {
    detail::thread_adversity = adversity;
  }
  ~AdversityGuard() { detail::thread_adversity = outer_; }
  AdversityGuard(const AdversityGuard&) = delete;
  AdversityGuard& operator=(const AdversityGuard&) = delete;

 private:
  Adversity* outer_;
};

}  // namespace ferry
