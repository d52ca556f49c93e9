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

# Optional: without rdma-core's development files (libibverbs-dev) the transport verbs is absent.
option(FERRY_VERBS "Build the transport verbs where libibverbs is installed" ON)
set(ferry_has_verbs OFF)
if(FERRY_VERBS)
  find_library(FERRY_IBVERBS ibverbs)
  find_path(FERRY_IBVERBS_INCLUDE infiniband/verbs.h)
  mark_as_advanced(FERRY_IBVERBS FERRY_IBVERBS_INCLUDE)
  if(FERRY_IBVERBS AND FERRY_IBVERBS_INCLUDE)
    set(ferry_has_verbs ON)
  else()
    message(STATUS "No libibverbs (libibverbs-dev): ferry is built without the transport verbs")
  endif()
endif()
