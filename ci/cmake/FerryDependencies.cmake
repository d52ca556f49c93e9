# The libraries that ferry's own libraries stand on. Tests, programs and benchmarks find theirs where they are built.

find_package(Threads REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
# Boost's own config first (Debian and Ubuntu ship it), CMake's module for a plain folder of headers.
find_package(Boost 1.81 CONFIG QUIET)
if(NOT Boost_FOUND)
  find_package(Boost 1.81 MODULE REQUIRED)
endif()
