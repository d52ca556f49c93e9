// Tells ThreadSanitizer of order that goes through shared memory.
//
// Two nodes of one process (in tests) map the same pages at different addresses, so it cannot see that an atomic at one
// orders an atomic at the other. Whoever publishes calls order_before() first; whoever has seen it, order_after(). Told
// is one order for all channels, more than there is, so races between nodes may go unseen. Without ThreadSanitizer
// nothing happens.
#pragma once

#if defined(__SANITIZE_THREAD__)
#define FERRY_SHM_TELLS_ORDER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FERRY_SHM_TELLS_ORDER 1
#endif
#endif

#ifdef FERRY_SHM_TELLS_ORDER
#include <sanitizer/tsan_interface.h>
#endif

namespace ferry::shm {

#ifdef FERRY_SHM_TELLS_ORDER
inline char order_key = 0;  // only its address counts
inline void order_before() noexcept {
  __tsan_release(&order_key);
}
inline void order_after() noexcept {
  __tsan_acquire(&order_key);
}
#else
inline void order_before() noexcept {}
inline void order_after() noexcept {}
#endif

}  // namespace ferry::shm
