#include <ferry/explorer/worker.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>

#include <ferry/base/failure.hpp>
#include <ferry/base/limits.hpp>
#include <ferry/process/process_host.hpp>
#include <ferry/system/system_error.hpp>

namespace ferry::explorer {
namespace {

constexpr std::size_t kFrameHeader = 1 + sizeof(std::uint64_t);
constexpr std::size_t kLastWords = 16'384;

// False: nobody is at the other end any more.
bool send_all(int socket, std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t written = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

bool read_all(int descriptor, char* to, std::size_t size) noexcept {
  while (size > 0) {
    const ssize_t got = ::read(descriptor, to, size);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return false;
    }
    to += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

std::string framed(char kind, std::string_view bytes) {
  const std::uint64_t size = bytes.size();
  std::string frame(kFrameHeader, kind);
  std::memcpy(frame.data() + 1, &size, sizeof size);
  frame += bytes;
  return frame;
}

struct Pair {
  system::FileDescriptor near;
  system::FileDescriptor far;
};

// Sockets: who writes to one whose reader has died gets an error, and no signal.
Result<Pair> make_pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return system::system_failure(errno, "making sockets for a worker process");
  }
  return Pair{system::FileDescriptor(ends[0]), system::FileDescriptor(ends[1])};
}

[[noreturn]] void be_worker(const Worker::Body& body, int socket, int errors, Pulse& pulse, pid_t parent) noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) {
    ::_exit(1);
  }
  ::dup2(errors, STDERR_FILENO);
  WorkerSide side(socket, pulse);
  try {
    body(side);
  } catch (const Error& error) {
    side.send('e', std::to_string(static_cast<int>(error.ferry_code())) + " " + error.failure().detail());
  } catch (...) {
    side.send('e', std::to_string(static_cast<int>(errc::invalid_argument)) + " " +
                       describe_exception(std::current_exception(), limits::kExceptionText));
  }
  std::fflush(nullptr);
  ::_exit(0);
}

}  // namespace

std::int64_t monotonic_now() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

std::optional<std::string> WorkerSide::next() {
  std::array<char, kFrameHeader> header{};
  if (!read_all(socket_, header.data(), header.size())) {
    return std::nullopt;
  }
  std::uint64_t size = 0;
  std::memcpy(&size, header.data() + 1, sizeof size);
  std::string bytes(size, '\0');
  if (!read_all(socket_, bytes.data(), bytes.size())) {
    return std::nullopt;
  }
  return bytes;
}

void WorkerSide::send(char kind, std::string_view bytes) {
  static_cast<void>(send_all(socket_, framed(kind, bytes)));
}

void WorkerSide::begin(std::uint64_t number) noexcept {
  pulse_.number.store(number, std::memory_order_relaxed);
  pulse_.since.store(monotonic_now(), std::memory_order_relaxed);
}

Result<std::unique_ptr<Worker>> Worker::start(const Body& body) {
  auto sockets = make_pair();
  if (!sockets) {
    return sockets.error();
  }
  std::unique_ptr<Worker> worker(new Worker());
  worker->stderr_ = system::FileDescriptor(::memfd_create("ferry-worker-stderr", MFD_CLOEXEC));
  if (!worker->stderr_ || ::fcntl(worker->stderr_.get(), F_SETFL, O_APPEND) != 0) {
    return system::system_failure(errno, "making a file for what a worker process writes");
  }
  void* const shared = ::mmap(nullptr, sizeof(Pulse), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) {
    return system::system_failure(errno, "sharing a page with a worker process");
  }
  worker->pulse_ = new (shared) Pulse();
  std::fflush(nullptr);  // what is buffered would be written twice
  const pid_t parent = ::getpid();
  worker->pid_ = ::fork();
  if (worker->pid_ < 0) {
    return system::system_failure(errno, "starting a worker process", errc::spawn_failed);
  }
  if (worker->pid_ == 0) {
    sockets->near.reset();
    be_worker(body, sockets->far.get(), worker->stderr_.get(), *worker->pulse_, parent);
  }
  worker->socket_ = std::move(sockets->near);
  return worker;
}

Worker::~Worker() {
  kill();
  reap();
  if (pulse_ != nullptr) {
    ::munmap(pulse_, sizeof(Pulse));
  }
}

void Worker::kill() noexcept {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
  }
}

void Worker::reap() noexcept {
  if (pid_ > 0) {
    while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
  }
}

void Worker::request(std::string_view bytes) {
  static_cast<void>(send_all(socket_.get(), framed('q', bytes)));  // of one that has ended, read() tells
}

bool Worker::read() {
  std::array<char, 65'536> buffer;  // NOLINT: read() fills it
  for (;;) {
    const ssize_t got = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got > 0) {
      received_.append(buffer.data(), static_cast<std::size_t>(got));
    } else if (got < 0 && errno == EAGAIN) {
      return true;
    } else if (got == 0 || errno != EINTR) {
      return false;  // also reset: it died with a request unread
    }
  }
}

std::optional<Frame> Worker::take() {
  if (received_.size() < kFrameHeader) {
    return std::nullopt;
  }
  std::uint64_t size = 0;
  std::memcpy(&size, received_.data() + 1, sizeof size);
  if (received_.size() - kFrameHeader < size) {
    return std::nullopt;
  }
  Frame frame{received_[0], received_.substr(kFrameHeader, size)};
  received_.erase(0, kFrameHeader + size);
  return frame;
}

std::string Worker::how_ended() {
  reap();
  ProcessExit exit;
  if (WIFSIGNALED(status_)) {
    exit = {ProcessExit::How::killed_by_signal, WTERMSIG(status_), {}};
  } else {
    exit = {ProcessExit::How::exited, WEXITSTATUS(status_), {}};
  }
  exit.last_words = take_stderr();
  while (!exit.last_words.empty() && exit.last_words.back() == '\n') {
    exit.last_words.pop_back();
  }
  return exit.to_text();
}

std::string Worker::take_stderr() {
  struct stat state {};
  if (::fstat(stderr_.get(), &state) != 0 || state.st_size == 0) {
    return {};
  }
  const auto size = static_cast<std::size_t>(state.st_size);
  const std::size_t kept = std::min(size, kLastWords);
  std::string text(kept, '\0');
  const ssize_t got = ::pread(stderr_.get(), text.data(), kept, static_cast<off_t>(size - kept));
  text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  if (::ftruncate(stderr_.get(), 0) != 0) {
    text.clear();  // it would be told twice
  }
  return text;
}

}  // namespace ferry::explorer
