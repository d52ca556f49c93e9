#include <ferry/base/task.hpp>

#include <ferry/base/result.hpp>

namespace ferry::detail {

void PromiseBase::refuse_to_run() {
  throw Error(Failure(errc::invalid_argument, "the task is empty (moved from), or was awaited before"));
}

}  // namespace ferry::detail
