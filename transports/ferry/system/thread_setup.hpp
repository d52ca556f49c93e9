// start_thread: a std::thread with a name for debuggers (at most 15 characters) and signals blocked, so that they
// reach threads of the user's and never ferry's (faults of the thread itself excepted).
//
// Throws std::system_error where the system gives no thread.
#pragma once

#include <functional>
#include <thread>

namespace ferry::system {

std::thread start_thread(const char* name, std::function<void()> body);

}  // namespace ferry::system
