// StderrRelay: one child's stderr: whole lines to pass on, and its last words.
//
// Lines of several children must not be torn, so an unfinished line is kept until it ends, grows long, or is asked for.
// Owner: the watcher of the child; one thread. Opens nothing: the pipe is given.
#pragma once

#include <cstddef>
#include <string>

#include <ferry/system/file_descriptor.hpp>

namespace ferry::system {

class StderrRelay {
 public:
  static constexpr std::size_t kLastWords = 4096;  // bytes kept
  static constexpr std::size_t kLongLine = 4096;   // bytes after which an unfinished line is passed on
  static constexpr std::size_t kTurn = 64U << 10;  // bytes read at a time, so that one child does not hold up others

  // pipe: the read end, non-blocking.
  explicit StderrRelay(FileDescriptor pipe) noexcept : pipe_(std::move(pipe)) {}

  // -1 once the other end is closed.
  int descriptor() const noexcept { return pipe_.get(); }

  // Reads what there is, at most kTurn bytes, and appends finished lines to `lines`. False: nothing more for now.
  bool read(std::string& lines);

  // Appends the unfinished line, if there is one; with a line end where `complete`.
  void flush(std::string& lines, bool complete);
  bool has_unfinished_line() const noexcept { return !unfinished_.empty(); }

  // The last kLastWords bytes, without white space at the end.
  std::string last_words() const;

 private:
  FileDescriptor pipe_;
  std::string unfinished_;
  std::string last_words_;
};

}  // namespace ferry::system
