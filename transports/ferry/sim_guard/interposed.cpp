// The functions of the C library that no world may call, once more: they judge, then do what those do.
//
// They stand in the program itself, so that its calls and those of shared libraries find them before the C library's.
#include <ferry/sim_guard/judge.hpp>

extern "C" {
extern const char ferry_sim_guard_is_linked;
const char ferry_sim_guard_is_linked = 1;
}

#ifndef FERRY_SIM_GUARD_SANITIZER

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {

constexpr const char* kTime = "use the executor's now(), which is the world's time: context.node().executor().now()";
constexpr const char* kRandom = "draw from ferry::Random with a seed that the options give, or from World::random()";
constexpr const char* kThread = "start a Task (ferry::start, TaskGroup); a world has one thread";

// The function that would be called without the guard.
template <class F>
class Next {
 public:
  explicit constexpr Next(const char* name) noexcept : name_(name) {}
  F* get() noexcept {
    void* found = found_.load(std::memory_order_relaxed);
    if (found == nullptr) {
      found = ::dlsym(RTLD_NEXT, name_);
      if (found == nullptr) {
        std::abort();  // the program calls what its C library does not have
      }
      found_.store(found, std::memory_order_relaxed);
    }
    return reinterpret_cast<F*>(found);
  }

 private:
  const char* const name_;
  std::atomic<void*> found_{nullptr};
};

bool is_wall_clock(clockid_t clock) noexcept {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
}

time_t shift() noexcept {
  return static_cast<time_t>(ferry::sim_guard::wall_clock_shift().count());
}

bool is_random_device(const char* path) noexcept {
  return path != nullptr && (std::strcmp(path, "/dev/urandom") == 0 || std::strcmp(path, "/dev/random") == 0);
}

void judge_path(const char* path, const void* return_address) noexcept {
  if (is_random_device(path)) {
    ferry::sim_guard::judge(path, kRandom, return_address);
  }
}

Next<int(clockid_t, timespec*)> next_clock_gettime("clock_gettime");
Next<int(timeval*, void*)> next_gettimeofday("gettimeofday");
Next<int(timespec*, int)> next_timespec_get("timespec_get");
Next<clock_t()> next_clock("clock");
Next<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)> next_pthread_create("pthread_create");
Next<std::FILE*(const char*, const char*)> next_fopen("fopen");
Next<std::FILE*(const char*, const char*)> next_fopen64("fopen64");
Next<std::uint32_t()> next_arc4random("arc4random");
Next<void(void*, std::size_t)> next_arc4random_buf("arc4random_buf");
Next<std::uint32_t(std::uint32_t)> next_arc4random_uniform("arc4random_uniform");
Next<unsigned(void*)> next_random_device("_ZNSt13random_device9_M_getvalEv");

int open_at(int folder, const char* path, int flags, mode_t mode) noexcept {
  return static_cast<int>(::syscall(SYS_openat, folder, path, flags, mode));
}

bool takes_mode(int flags) noexcept {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

}  // namespace

#define FERRY_JUDGE(NAME, REMEDY) ferry::sim_guard::judge(NAME, REMEDY, __builtin_return_address(0))

// The optional argument of open() and its like.
#define FERRY_MODE(FLAGS, MODE)       \
  mode_t MODE = 0;                    \
  if (takes_mode(FLAGS)) {            \
    std::va_list arguments;           \
    va_start(arguments, FLAGS);       \
    MODE = va_arg(arguments, mode_t); \
    va_end(arguments);                \
  }

extern "C" {

void __libc_free(void* memory);  // the C library's own

void free(void* memory) noexcept {
  ferry::sim_guard::judge_free(memory);
  __libc_free(memory);
}

int clock_gettime(clockid_t clock, timespec* to) noexcept {
  FERRY_JUDGE("clock_gettime", kTime);
  const int status = next_clock_gettime.get()(clock, to);
  if (status == 0 && is_wall_clock(clock)) {
    to->tv_sec += shift();
  }
  return status;
}

int gettimeofday(timeval* to, void* zone) noexcept {
  FERRY_JUDGE("gettimeofday", kTime);
  const int status = next_gettimeofday.get()(to, zone);
  if (status == 0) {
    to->tv_sec += shift();
  }
  return status;
}

time_t time(time_t* to) noexcept {
  FERRY_JUDGE("time", kTime);
  timespec now{};
  static_cast<void>(next_clock_gettime.get()(CLOCK_REALTIME_COARSE, &now));
  now.tv_sec += shift();
  if (to != nullptr) {
    *to = now.tv_sec;
  }
  return now.tv_sec;
}

int timespec_get(timespec* to, int base) noexcept {
  FERRY_JUDGE("timespec_get", kTime);
  const int got = next_timespec_get.get()(to, base);
  if (got == TIME_UTC) {
    to->tv_sec += shift();
  }
  return got;
}

clock_t clock() noexcept {
  FERRY_JUDGE("clock", kTime);
  return next_clock.get()();
}

ssize_t getrandom(void* to, std::size_t size, unsigned flags) {
  FERRY_JUDGE("getrandom", kRandom);
  return ::syscall(SYS_getrandom, to, size, flags);
}

int getentropy(void* to, std::size_t size) {
  FERRY_JUDGE("getentropy", kRandom);
  constexpr std::size_t kMost = 256;  // of one call, which is then whole: getentropy(3)
  if (size > kMost) {
    errno = EIO;
    return -1;
  }
  return ::syscall(SYS_getrandom, to, size, 0) == static_cast<ssize_t>(size) ? 0 : -1;
}

std::uint32_t arc4random() noexcept {
  FERRY_JUDGE("arc4random", kRandom);
  return next_arc4random.get()();
}

void arc4random_buf(void* to, std::size_t size) noexcept {
  FERRY_JUDGE("arc4random_buf", kRandom);
  next_arc4random_buf.get()(to, size);
}

std::uint32_t arc4random_uniform(std::uint32_t bound) noexcept {
  FERRY_JUDGE("arc4random_uniform", kRandom);
  return next_arc4random_uniform.get()(bound);
}

// std::random_device::operator(): mostly an instruction, behind which no function is.
unsigned ferry_sim_guard_random_device(void* device) __asm__("_ZNSt13random_device9_M_getvalEv");
unsigned ferry_sim_guard_random_device(void* device) {
  FERRY_JUDGE("std::random_device", kRandom);
  return next_random_device.get()(device);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*), void* argument) noexcept {
  FERRY_JUDGE("pthread_create", kThread);
  return next_pthread_create.get()(thread, attributes, body, argument);
}

int open(const char* path, int flags, ...) {
  FERRY_MODE(flags, mode)
  judge_path(path, __builtin_return_address(0));
  return open_at(AT_FDCWD, path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  FERRY_MODE(flags, mode)
  judge_path(path, __builtin_return_address(0));
  return open_at(AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
  FERRY_MODE(flags, mode)
  judge_path(path, __builtin_return_address(0));
  return open_at(folder, path, flags, mode);
}

int openat64(int folder, const char* path, int flags, ...) {
  FERRY_MODE(flags, mode)
  judge_path(path, __builtin_return_address(0));
  return open_at(folder, path, flags, mode);
}

std::FILE* fopen(const char* path, const char* mode) {
  judge_path(path, __builtin_return_address(0));
  return next_fopen.get()(path, mode);
}

std::FILE* fopen64(const char* path, const char* mode) {
  judge_path(path, __builtin_return_address(0));
  return next_fopen64.get()(path, mode);
}

}  // extern "C"

#endif
