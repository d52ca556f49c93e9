// Trees of processes for the tests that kill their root: what the processes in them do, and how a root is started.
//
// Every process of a tree has the root's stdout, a pipe: it writes a line there when it runs, and the pipe ends when
// the last of them is gone. A root is started by hand and not through a host, so that only the tree's own means end it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include <ferry/process/bootstrap.hpp>
#include <ferry/system/file_descriptor.hpp>

namespace ferry::system {

struct TreeShape {
  unsigned children = 1;
  unsigned grandchildren = 0;     // of each child
  std::string kind = "ordinary";  // "without signal": gives up the kernel's; "foreign": `sleep`, which knows no ferry
};

// A child of this name stays until it is killed, with bootstrap.self.incarnation children of its own.
inline constexpr const char* kStays = "stays";
int stay(const Bootstrap& bootstrap);

// main() of a root: says "go", starts its tree and stays.
inline constexpr const char* kRootArgument = "--root";
int run_root(int argc, char** argv);

// One line of a process that runs.
struct Member {
  pid_t pid = 0;
  pid_t parent = 0;
};

class Tree {
 public:
  // Starts a root. This process becomes the reaper of what it leaves behind.
  explicit Tree(const TreeShape& shape);
  ~Tree();
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  pid_t root() const noexcept { return root_; }
  // The root is about to start its children.
  void wait_for_go();
  // The next `count` processes that say that they run.
  std::vector<Member> wait_for(std::size_t count);
  void kill_root() noexcept;
  // Returns when every process of the tree is gone; how many of those that were left to this process ended otherwise
  // than by SIGKILL or by seeing that their parent had gone.
  int wait_until_gone();

 private:
  std::string next_line();

  pid_t root_ = -1;
  FileDescriptor pipe_;
  std::string text_;
};

}  // namespace ferry::system
