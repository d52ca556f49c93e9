#include <ferry/base/process_mark.hpp>

#include <ferry/base/failure.hpp>

namespace ferry {

Failure made_before_fork() {
  return Failure(errc::wrong_process,
                 "this process is a fork of the one in which the object was made; start processes by exec, or make a "
                 "node of its own in the fork");
}

}  // namespace ferry
