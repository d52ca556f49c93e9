// SystemCallCounter: counts the system calls of one thread, every one of them, by a seccomp filter that asks a thread
// of the counter before each (SECCOMP_RET_USER_NOTIF; Linux 5.5), which lets it pass.
//
// The filter stays with the thread until that ends, so the counter is destroyed after it. Test code only.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <thread>

namespace ferry::shm::testing {

class SystemCallCounter {
 public:
  SystemCallCounter() : thread_([this] { let_pass(); }) {}
  ~SystemCallCounter() {
    over_.store(true);
    thread_.join();
  }
  SystemCallCounter(const SystemCallCounter&) = delete;
  SystemCallCounter& operator=(const SystemCallCounter&) = delete;

  // Counts what the calling thread does from now on. False: the kernel does not allow it. Called once.
  bool watch_this_thread() {
    sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF)};
    sock_fprog program{1, code};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
      return false;
    }
    const long listener = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    listener_.store(static_cast<int>(listener));  // no system call: the thread looks
    return listener >= 0;
  }

  std::uint64_t count() const { return count_.load(); }

 private:
  void let_pass() {
    while (listener_.load() < 0) {
      if (over_.load()) {
        return;
      }
      std::this_thread::yield();
    }
    const int listener = listener_.load();
    pollfd ready{listener, POLLIN, 0};
    while (::poll(&ready, 1, -1) > 0 && (ready.revents & POLLIN) != 0) {  // POLLHUP: the thread has ended
      seccomp_notif asked{};
      if (::ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0) {
        continue;  // a signal took the call back
      }
      count_.fetch_add(1);
      seccomp_notif_resp answer{};
      answer.id = asked.id;
      answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
      ::ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
    }
    ::close(listener);
  }

  std::atomic<int> listener_{-1};
  std::atomic<bool> over_{false};
  std::atomic<std::uint64_t> count_{0};
  std::thread thread_;
};

}  // namespace ferry::shm::testing
