// Which core a process runs on. Two processes that wait for each other by polling must not share one: where the
// scheduler puts them together they take turns by time slices, and no figure means anything.
#pragma once

namespace ferry_bench {

// All present threads of this process, and those they start, to one of the cores that the process may use. Does nothing
// where there are not that many.
void keep_process_to_core(int which);

}  // namespace ferry_bench
