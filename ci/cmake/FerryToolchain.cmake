# How everything is compiled: language level, output folders, warnings, sanitizers, ccache and mold.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_VERIFY_INTERFACE_HEADER_SETS ${FERRY_VERIFY_HEADERS})

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  set_property(GLOBAL PROPERTY USE_FOLDERS ON)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    add_compile_options(-fcolor-diagnostics)
  else()
    add_compile_options(-fdiagnostics-color=always)
  endif()
endif()

if(FERRY_USE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(FERRY_CCACHE ccache)
  mark_as_advanced(FERRY_CCACHE)
  if(FERRY_CCACHE)
    # The sloppiness is what ccache asks for with precompiled headers; base_dir lets copies of the tree share results.
    set(CMAKE_CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND}" -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
      "${FERRY_CCACHE}")
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      # A precompiled header from the cache is older than what it was made of; its content is what ccache compares.
      add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
    endif()
  endif()
endif()
if(PROJECT_IS_TOP_LEVEL AND NOT FERRY_CCACHE)
  # Files name themselves relative to the tree, so that the same source gives the same binary in any folder. ccache does
  # so by its base_dir, and would count the folder in the option as a difference.
  add_compile_options("-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=")
endif()

if(FERRY_USE_MOLD)
  find_program(FERRY_MOLD mold)
  mark_as_advanced(FERRY_MOLD)
  if(FERRY_MOLD)
    add_link_options(-fuse-ld=mold)
  endif()
endif()

set(ferry_warnings)
if(FERRY_WARNINGS)
  set(CMAKE_COMPILE_WARNING_AS_ERROR ON)
  list(APPEND ferry_warnings
    -Wall -Wextra -Wpedantic
    -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wcast-qual -Wundef
    -Wnon-virtual-dtor -Woverloaded-virtual -Wextra-semi -Wimplicit-fallthrough -Wformat=2
    # Options are aggregates that users fill by name: `{.timeout = 2s}`.
    -Wno-missing-field-initializers)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Strings joined by operator+ trip it wrongly in g++ 12 (GCC bug 105651).
    list(APPEND ferry_warnings -Wduplicated-cond -Wlogical-op -Wno-restrict)
    if(FERRY_SANITIZER)
      # The sanitizers' own code sets it off.
      list(APPEND ferry_warnings -Wno-maybe-uninitialized)
    endif()
  endif()
endif()

if(FERRY_SANITIZER MATCHES "^address(,undefined)?$")
  set(ferry_sanitize -fsanitize=${FERRY_SANITIZER})  # with both, g++ 12 compiles four times as long as clang 16
elseif(FERRY_SANITIZER STREQUAL "thread")
  set(ferry_sanitize -fsanitize=thread)
elseif(FERRY_SANITIZER STREQUAL "fuzzer")
  set(ferry_sanitize -fsanitize=fuzzer-no-link,address,undefined)
elseif(FERRY_SANITIZER)
  message(FATAL_ERROR
    "FERRY_SANITIZER is \"${FERRY_SANITIZER}\"; it is one of: address; address,undefined; thread; fuzzer; or empty.")
endif()
if(FERRY_SANITIZER)
  add_compile_options(${ferry_sanitize} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(${ferry_sanitize})
  if(FERRY_SANITIZER STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-tsan)  # g++ warns that it does not model fences; Asio has some, core has none.
  endif()
endif()
