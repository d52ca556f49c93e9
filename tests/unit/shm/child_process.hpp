// ChildProcess: another process that runs this test program in a role of its own, and is spoken to in lines.
//
// The child executes run_child_node(): a TestNode that does as it is told. Test code only.
#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ferry/memory/region.hpp>
#include <ferry/memory/region_codec.hpp>

namespace ferry::shm::testing {

inline constexpr const char* kChildRole = "--be-child";

// Reads commands from the standard input and answers each with a line:
//   read REGION            "CODE FIRST LAST CHECKSUM": of the bytes; CODE 0 for success
//   write REGION BYTE      "CODE"
//   add REGION NUMBER      "CODE OLD"
//   read_on REGION         "reading", once a read has succeeded; reads again and again; then "ended CODE"
//   write_on REGION BYTE   "writing" likewise
//   deny                   "denied": from now on the kernel refuses it other processes' memory
//   stats                  "FOREIGN_READS COMMANDS"
//   die_meeting ID INCARNATION STAGE
//                          "listening", as that process; it ends with the STAGEth packet that an initiator sends
//   allocate BYTES         "CODE" once shared memory was allocated and each page touched; "CODE text" if not
int run_child_node();

// As it travels to a child.
inline std::string to_hex(const RemoteRegion& region) {
  wire::Bytes bytes;
  wire::Writer writer(bytes);
  encode_region(writer, region);
  std::string text;
  for (const std::byte byte : bytes) {
    text += fmt::format("{:02x}", static_cast<unsigned>(byte));
  }
  return text;
}

class ChildProcess {
 public:
  ChildProcess() {
    int to_child[2];
    int from_child[2];
    EXPECT_EQ(::pipe2(to_child, O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(from_child, O_CLOEXEC), 0);
    pid_ = ::fork();
    EXPECT_GE(pid_, 0);
    if (pid_ == 0) {
      ::dup2(to_child[0], STDIN_FILENO);
      ::dup2(from_child[1], STDOUT_FILENO);
      ::execl("/proc/self/exe", "child", kChildRole, nullptr);
      ::_exit(127);
    }
    ::close(to_child[0]);
    ::close(from_child[1]);
    to_ = ::fdopen(to_child[1], "w");
    from_ = ::fdopen(from_child[0], "r");
  }
  ~ChildProcess() {
    kill();
    std::fclose(to_);
    std::fclose(from_);
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }

  template <class... T>
  void say(const T&... words) {
    std::string line;
    ((line += fmt::format("{} ", words)), ...);
    std::fprintf(to_, "%s\n", line.c_str());
    std::fflush(to_);
  }
  // The next line; empty if the child has ended.
  std::string hear() {
    std::string line;
    for (int c = std::fgetc(from_); c != EOF && c != '\n'; c = std::fgetc(from_)) {
      line += static_cast<char>(c);
    }
    return line;
  }
  template <class... T>
  std::string ask(const T&... words) {
    say(words...);
    return hear();
  }

  // Returns once nothing of it runs.
  void stop() {
    siginfo_t info{};
    EXPECT_EQ(::kill(pid_, SIGSTOP), 0);
    EXPECT_EQ(::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED), 0);
  }
  void resume() { ::kill(pid_, SIGCONT); }
  // Returns once it is dead. How it ended, as waitpid() says.
  int kill() {
    int status = 0;
    if (const pid_t pid = std::exchange(pid_, -1); pid > 0) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, &status, 0);
    }
    return status;
  }

 private:
  pid_t pid_ = -1;
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
};

}  // namespace ferry::shm::testing
