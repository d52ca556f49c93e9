// What ferry-litmus prints: results on stdout, whose arrival is checked; complaints and progress on stderr.
#pragma once

#include <cstddef>
#include <string_view>

namespace ferry::sim::litmus::runner {

class Output {
 public:
  void write(std::string_view text);  // to stdout; the first error is remembered
  void flush();

  // The exit status: kFailed, with a line on stderr, if something has not arrived (a full disk, a closed descriptor).
  int finish(int status);

 private:
  int error_ = 0;  // errno of the first write that failed
};

// One line on stderr.
void complain(std::string_view text);

// One line on a terminal's stderr that is written again and again, while something takes long. Nothing elsewhere.
class Progress {
 public:
  Progress();
  void show(std::string_view text);
  void clear();

 private:
  bool is_terminal_ = false;
  std::size_t width_ = 0;  // of what stands there
};

}  // namespace ferry::sim::litmus::runner
