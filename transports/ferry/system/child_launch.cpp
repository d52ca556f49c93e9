#include <ferry/system/child_launch.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

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

namespace ferry::system {
namespace {

constexpr const char* kOwnExecutable = "/proc/self/exe";

struct Pipe {
  FileDescriptor read;
  FileDescriptor write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return system_failure(errno, "making a pipe for a child process");
  }
  return Pipe{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

Result<FileDescriptor> sealed_file(wire::ByteView bytes) {
  FileDescriptor file(::memfd_create("ferry-bootstrap", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file || ::write(file.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()) ||
      ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    return system_failure(errno, "writing a child's bootstrap");
  }
  return file;
}

// This process's own arguments.
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

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  all.reserve(texts.size() + 1);
  for (std::string& text : texts) {
    all.push_back(text.data());
  }
  all.push_back(nullptr);
  return all;
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

struct Exec {
  const char* program;
  char* const* arguments;
  char* const* environment;
  int file;
  int death_pipe;
  int stderr_pipe;
  pid_t parent;
};

// Between vfork and exec: shares the parent's memory, so nothing but system calls.
[[noreturn]] void become(const Exec& exec, volatile int& error) {
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() == exec.parent) {  // else the parent has gone already and the signal will not come
    ::dup2(exec.stderr_pipe, STDERR_FILENO);
    ::fcntl(exec.file, F_SETFD, 0);
    ::fcntl(exec.death_pipe, F_SETFD, 0);
    ::execve(exec.program, exec.arguments, exec.environment);
  }
  error = errno;
  ::_exit(127);
}

// Its own frame: the child must return into nothing that the parent still needs.
[[gnu::noinline]] pid_t fork_and_exec(const Exec& exec, volatile int& error) {
  const pid_t pid = ::vfork();
  if (pid == 0) {
    become(exec, error);
  }
  return pid;
}

std::string remedy(int error) {
  switch (error) {
    case ENOENT:
      return "; check the path";
    case EACCES:
      return "; is it executable? (chmod +x)";
    case ENOEXEC:
      return "; it is neither a program nor a script with #!";
    default:
      return {};
  }
}

}  // namespace

Result<Launched> launch(const SpawnRequest& request) {
  const wire::Bytes bytes = encode_bootstrap(request.bootstrap);
  auto file = sealed_file({bytes.data(), bytes.size()});
  auto death = make_pipe();
  auto output = make_pipe();
  if (!file || !death || !output) {
    return !file ? file.error() : !death ? death.error() : output.error();
  }
  const bool own = request.program.empty();
  std::vector<std::string> arguments = own ? own_arguments() : request.arguments;
  if (!own) {
    arguments.insert(arguments.begin(), request.program);
  }
  std::vector<std::string> variables = environment(file->get(), death->read.get());
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> envp = pointers(variables);
  volatile int error = 0;
  const Exec exec{own ? kOwnExecutable : request.program.c_str(),
                  argv.data(),
                  envp.data(),
                  file->get(),
                  death->read.get(),
                  output->write.get(),
                  ::getpid()};
  const pid_t pid = fork_and_exec(exec, error);
  if (pid < 0) {
    return system_failure(errno, "starting a process");
  }
  if (error != 0) {
    ::waitpid(pid, nullptr, 0);
    return Failure(errc::spawn_failed, fmt::format("{} cannot be run: {}{}", own ? "this executable" : request.program,
                                                   error_text(error), remedy(error)));
  }
  Launched launched;
  launched.pid = pid;
  launched.pidfd = FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  launched.stderr_pipe = std::move(output->read);
  launched.death_pipe = std::move(death->write);
  ::fcntl(launched.stderr_pipe.get(), F_SETFL, O_NONBLOCK);
  if (!launched.pidfd) {
    const int failed = errno;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return system_failure(failed, "watching a child process");
  }
  return launched;
}

}  // namespace ferry::system
