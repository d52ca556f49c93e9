#include <ferry/system/child_launch.hpp>

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <ferry/system/inherited_bootstrap.hpp>
#include <ferry/system/system_error.hpp>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

namespace ferry::system {
namespace {

constexpr const char* kOwnExecutable = "/proc/self/exe";
constexpr int kExecFailed = 127;
constexpr int kFirstOwnDescriptor = 3;

struct Pipe {
  FileDescriptor read;
  FileDescriptor write;
};

// A descriptor that the child's standard three do not displace, where this process runs without some of them.
FileDescriptor beyond_standard(int number) {
  FileDescriptor descriptor(number);
  if (number >= 0 && number < kFirstOwnDescriptor) {
    return FileDescriptor(::fcntl(number, F_DUPFD_CLOEXEC, kFirstOwnDescriptor));
  }
  return descriptor;
}

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return system_failure(errno, "making a pipe for a child process");
  }
  return Pipe{beyond_standard(ends[0]), beyond_standard(ends[1])};
}

Result<FileDescriptor> sealed_file(wire::ByteView bytes) {
  constexpr const char* name = "ferry-bootstrap";
  int number = ::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
  if (number < 0 && errno == EINVAL) {  // a kernel before 6.3
    number = ::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  }
  FileDescriptor file = beyond_standard(number);
  if (!file || ::write(file.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()) ||
      ::fcntl(file.get(), F_ADD_SEALS, kBootstrapSeals) != 0) {
    return system_failure(errno, "writing a child's bootstrap");
  }
  return file;
}

// This process's own arguments; none if they cannot be read.
std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<std::string> arguments;
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t end = std::min(all.find('\0', begin), all.size());
    arguments.push_back(all.substr(begin, end - begin));
    begin = end + 1;
  }
  return arguments;
}

// The path of this executable where it still is that file, so that `ps` shows its name; else the link that always is.
std::string own_executable() {
  std::array<char, PATH_MAX> path{};
  struct stat named {};
  struct stat own {};
  const ssize_t length = ::readlink(kOwnExecutable, path.data(), path.size());
  if (length > 0 && static_cast<std::size_t>(length) < path.size() && ::stat(path.data(), &named) == 0 &&
      ::stat(kOwnExecutable, &own) == 0 && named.st_dev == own.st_dev && named.st_ino == own.st_ino) {
    return path.data();
  }
  return kOwnExecutable;
}

std::vector<std::string> environment(int file, int death_pipe) {
  const std::string prefix = std::string(kBootstrapVariable) + "=";
  std::vector<std::string> all;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, prefix.c_str(), prefix.size()) != 0) {
      all.emplace_back(*entry);
    }
  }
  all.push_back(fmt::format("{}{},{}", prefix, file, death_pipe));
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  all.reserve(texts.size() + 1);
  for (std::string& text : texts) {
    all.push_back(text.data());
  }
  all.push_back(nullptr);
  return all;
}

struct Exec {
  const char* program;
  char* const* arguments;
  char* const* environment;
  const sigset_t* mask;
  int file;
  int death_pipe;
  int stderr_pipe;
  int status_pipe;  // closed by exec; told why if there is none
  pid_t parent;
};

// The handlers of this process must not run in a child that still shares its memory. What is ignored stays ignored.
void forget_handlers() noexcept {
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN) {
      action = {};
      action.sa_handler = SIG_DFL;
      ::sigaction(signal, &action, nullptr);
    }
  }
}

// Between vfork and exec.
[[noreturn]] void become(const Exec& exec) noexcept {
  forget_handlers();
  ::sigprocmask(SIG_SETMASK, exec.mask, nullptr);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != exec.parent) {
    ::_exit(kExecFailed);  // the parent has gone already, and the signal will not come
  }
  ::dup2(exec.stderr_pipe, STDERR_FILENO);
  // Also what the user's program has opened without O_CLOEXEC. (Kernels before 5.11 refuse.)
  ::syscall(SYS_close_range, kFirstOwnDescriptor, ~0U, CLOSE_RANGE_CLOEXEC);
  ::fcntl(exec.file, F_SETFD, 0);
  ::fcntl(exec.death_pipe, F_SETFD, 0);
  ::execve(exec.program, exec.arguments, exec.environment);
  const int error = errno;
  static_cast<void>(!::write(exec.status_pipe, &error, sizeof error));
  ::_exit(kExecFailed);
}

// Its own frame: the child must return into nothing that the parent still needs.
[[gnu::noinline]] pid_t fork_and_exec(const Exec& exec) noexcept {
  const pid_t pid = ::vfork();
  if (pid == 0) {
    become(exec);
  }
  return pid;
}

// Why there was no exec; 0: there was.
int exec_error(Pipe& status) {
  status.write.reset();
  int error = 0;
  ssize_t got = 0;
  do {
    got = ::read(status.read.get(), &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  return got == sizeof error ? error : 0;
}

std::string_view remedy(int error) {
  switch (error) {
    case ENOENT:
      return "; check the path, and the interpreter if it is a script (PATH is not searched)";
    case EACCES:
      return "; is it a file that may be executed? (chmod +x)";
    case ENOEXEC:
      return "; it is neither a program for this machine nor a script that begins with #!";
    case E2BIG:
      return "; its arguments and environment are too long together";
    default:
      return {};
  }
}

Failure exec_failure(const SpawnRequest& request, int error) {
  std::string what = request.program.empty() ? "this executable" : request.program;
  if (!request.program.empty() && request.program.front() != '/') {
    std::array<char, PATH_MAX> directory{};
    if (::getcwd(directory.data(), directory.size()) != nullptr) {
      what += fmt::format(" (in {})", directory.data());
    }
  }
  return Failure(errc::spawn_failed, fmt::format("{} cannot be run: {}{}", what, error_text(error), remedy(error)));
}

}  // namespace

Result<Launched> launch(const SpawnRequest& request, const sigset_t& mask) {
  const wire::Bytes bytes = encode_bootstrap(request.bootstrap);
  auto file = sealed_file({bytes.data(), bytes.size()});
  auto death = make_pipe();
  auto output = make_pipe();
  auto status = make_pipe();
  if (!file) {
    return file.error();
  }
  for (const auto* pipe : {&death, &output, &status}) {
    if (!*pipe) {
      return pipe->error();
    }
  }
  const bool own = request.program.empty();
  const std::string program = own ? own_executable() : request.program;
  std::vector<std::string> arguments = own ? own_arguments() : request.arguments;
  if (!own) {
    arguments.insert(arguments.begin(), program);
  } else if (arguments.empty()) {
    return Failure(errc::spawn_failed,
                   "this process's own arguments, which the child shall have, cannot be read from "
                   "/proc/self/cmdline; too few descriptors (ulimit -n) are a reason");
  }
  std::vector<std::string> variables = environment(file->get(), death->read.get());
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> envp = pointers(variables);
  const Exec exec{program.c_str(),   argv.data(),         envp.data(),         &mask,     file->get(),
                  death->read.get(), output->write.get(), status->write.get(), ::getpid()};
  const pid_t pid = fork_and_exec(exec);
  if (pid < 0) {
    return system_failure(errno, "starting a process", errc::spawn_failed);
  }
  if (const int error = exec_error(*status); error != 0) {
    ::waitpid(pid, nullptr, 0);
    return exec_failure(request, error);
  }
  Launched launched;
  launched.pid = pid;
  launched.stderr_pipe = std::move(output->read);
  launched.death_pipe = std::move(death->write);
  launched.pidfd = FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  // No such process: it has ended, and the system has dropped it because this process ignores SIGCHLD.
  const bool watched = launched.pidfd || errno == ESRCH;
  if (!watched || ::fcntl(launched.stderr_pipe.get(), F_SETFL, O_NONBLOCK) != 0) {
    const int error = errno;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return system_failure(error, "watching a child process", errc::spawn_failed);
  }
  return launched;
}

}  // namespace ferry::system
