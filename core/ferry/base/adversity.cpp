#include <ferry/base/adversity.hpp>

namespace ferry::detail {

constinit thread_local Adversity* thread_adversity = nullptr;

}  // namespace ferry::detail
