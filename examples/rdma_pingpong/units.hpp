// Numbers with units as people read them: three digits and the unit that fits.
#pragma once

#include <cstdint>
#include <string>

namespace rdma_pingpong {

std::string size_text(std::uint64_t bytes);     // "8 B", "64 KiB", "256 MiB"; "1000 B" where nothing larger is exact
std::string duration_text(double nanoseconds);  // "38.1 ns", "12.3 us", "1.23 ms"
std::string rate_text(double per_second);       // "26.2 M/s"
std::string bandwidth_text(double per_second);  // "12.3 GB/s"

// The same for marks of an axis: "1 us", "200 MB/s".
std::string duration_mark(double nanoseconds);
std::string bandwidth_mark(double per_second);

}  // namespace rdma_pingpong
