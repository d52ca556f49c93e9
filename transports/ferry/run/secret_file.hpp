// The file with a job's secret, for jobs of several hosts: 64 hexadecimal digits, readable by its owner only.
#pragma once

#include <string>

#include <ferry/base/result.hpp>
#include <ferry/transport/node_core.hpp>

namespace ferry {

// not_authorised: others may read or write the file. malformed: it holds something else. invalid_argument: cannot be
// read.
Result<JobSecret> read_secret_file(const std::string& path);

}  // namespace ferry
