# Functions that declare ferry's targets, so that each folder's CMakeLists.txt is little more than a list of files.

# What nearly every source includes. Sources still name what they use: release is built without it.
set(ferry_precompiled
  <algorithm> <array> <atomic> <chrono> <coroutine> <cstddef> <cstdint> <cstring> <functional> <map> <memory> <mutex>
  <optional> <span> <string> <string_view> <system_error> <utility> <variant> <vector>
  <boost/system/result.hpp> <fmt/format.h>)

# ferry_add_library(NAME BASE)
#   A static library ferry_NAME, known as ferry::NAME here and after install. Layers add their files to it with
#   target_sources; their include lines are relative to the folder BASE.
function(ferry_add_library name base)
  set(target ferry_${name})
  add_library(${target} STATIC)
  add_library(ferry::${name} ALIAS ${target})
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS "${base}")
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE ${ferry_warnings})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} FOLDER libraries)
  if(FERRY_PCH AND name STREQUAL "core")
    target_precompile_headers(${target} PRIVATE ${ferry_precompiled})
  elseif(FERRY_PCH)
    target_precompile_headers(${target} REUSE_FROM ferry_core)
  endif()
  set_property(GLOBAL APPEND PROPERTY FERRY_LIBRARIES ${target})
endfunction()

# Gives a library that has no source yet an empty one: CMake and ar want at least one.
function(ferry_finish_libraries)
  get_property(targets GLOBAL PROPERTY FERRY_LIBRARIES)
  foreach(target IN LISTS targets)
    get_target_property(sources ${target} SOURCES)
    if(NOT sources MATCHES "\\.cpp")
      set(empty "${PROJECT_BINARY_DIR}/generated/${target}_empty.cpp")
      file(CONFIGURE OUTPUT "${empty}" CONTENT "// ${target} has headers only.\n")
      target_sources(${target} PRIVATE "${empty}")
    endif()
  endforeach()
endfunction()

# ferry_add_program(NAME name SOURCES file… LIBS target…)
#   A program that users run. It lands in build/PRESET/bin/ and is installed.
function(ferry_add_program)
  cmake_parse_arguments(PARSE_ARGV 0 arg "NO_INSTALL" "NAME" "SOURCES;LIBS")
  ferry_check_arguments(ferry_add_program "NAME;SOURCES;LIBS")
  add_executable(${arg_NAME} ${arg_SOURCES})
  target_link_libraries(${arg_NAME} PRIVATE ${arg_LIBS})
  target_compile_options(${arg_NAME} PRIVATE ${ferry_warnings})
  set_target_properties(${arg_NAME} PROPERTIES FOLDER programs)
  if(FERRY_INSTALL AND NOT arg_NO_INSTALL)
    install(TARGETS ${arg_NAME} RUNTIME COMPONENT programs)
  endif()
endfunction()

# Build what the stages of these names run; asan runs everything.
add_custom_target(ferry_forms)
add_custom_target(ferry_tsan)

# ferry_add_test(NAME name SOURCES file… STAGE stage… [LIBS target…] [ARGS argument…] [TIMEOUT seconds]
#                [NOT_UNDER asan|tsan…] [FORMS] [SERIAL] [NO_MAIN])
#   One GoogleTest binary, build/PRESET/bin/tests/NAME, and one ctest entry of the same name.
#   STAGE      stage of ci/test that runs it: unit, conformance, sim or verbs. The stages asan and tsan run it too,
#              unless NOT_UNDER names them. Those of verbs need an RDMA device: ci/rxe-guest runs them.
#   FORMS      the stage forms runs it too: it awaits in the forms that users are promised.
#   TIMEOUT    seconds until it counts as hung, 60 if absent; the sanitizer presets multiply it.
#   SERIAL     nothing else runs beside it.
#   NO_MAIN    a source defines main(): a test whose binary is also a child process, say.
#   Tests run in the root of the source tree, with FERRY_BIN_DIR set to build/PRESET/bin.
function(ferry_add_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "FORMS;SERIAL;NO_MAIN" "NAME;TIMEOUT" "SOURCES;LIBS;STAGE;ARGS;NOT_UNDER")
  ferry_check_arguments(ferry_add_test "NAME;SOURCES;STAGE")
  foreach(stage IN LISTS arg_STAGE)
    if(NOT stage MATCHES "^(unit|conformance|sim|verbs)$")
      message(FATAL_ERROR "ferry_add_test(${arg_NAME}): STAGE ${stage} is none of unit, conformance, sim, verbs.")
    endif()
  endforeach()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()

  add_executable(${arg_NAME} ${arg_SOURCES})
  target_link_libraries(${arg_NAME} PRIVATE ${arg_LIBS} ferry_test_base)
  if(NOT arg_NO_MAIN)
    target_link_libraries(${arg_NAME} PRIVATE GTest::gmock_main)
  endif()
  target_compile_options(${arg_NAME} PRIVATE ${ferry_warnings} ${ferry_test_options})
  target_precompile_headers(${arg_NAME} REUSE_FROM ferry_test_pch)
  set_target_properties(${arg_NAME} PROPERTIES FOLDER tests RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin/tests")

  set(labels ${arg_STAGE} asan tsan)
  list(REMOVE_ITEM labels ${arg_NOT_UNDER} "")
  if(arg_FORMS)
    list(APPEND labels forms)
    add_dependencies(ferry_forms ${arg_NAME})
  endif()
  if("tsan" IN_LIST labels)
    add_dependencies(ferry_tsan ${arg_NAME})
  endif()
  math(EXPR timeout "${arg_TIMEOUT} * ${FERRY_TEST_TIMEOUT_FACTOR}")
  add_test(NAME ${arg_NAME} COMMAND ${arg_NAME} ${arg_ARGS} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties(${arg_NAME} PROPERTIES
    LABELS "${labels}"
    TIMEOUT ${timeout}
    SKIP_RETURN_CODE 77
    ENVIRONMENT "FERRY_BIN_DIR=${PROJECT_BINARY_DIR}/bin")
  if(arg_SERIAL)
    set_tests_properties(${arg_NAME} PROPERTIES RUN_SERIAL ON)
  endif()
endfunction()

# ferry_add_fuzzer(NAME name SOURCES file… LIBS target…)
#   A libFuzzer program, build/fuzz/bin/NAME.
function(ferry_add_fuzzer)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "SOURCES;LIBS")
  ferry_check_arguments(ferry_add_fuzzer "NAME;SOURCES;LIBS")
  add_executable(${arg_NAME} ${arg_SOURCES})
  target_link_libraries(${arg_NAME} PRIVATE ${arg_LIBS})
  target_link_options(${arg_NAME} PRIVATE -fsanitize=fuzzer)
  target_compile_options(${arg_NAME} PRIVATE ${ferry_warnings})
  set_target_properties(${arg_NAME} PROPERTIES FOLDER fuzz)
  set_property(GLOBAL APPEND PROPERTY FERRY_FUZZERS ${arg_NAME})
endfunction()

macro(ferry_check_arguments function required)
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${function}(${arg_NAME}): unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  foreach(name IN ITEMS ${required})
    if(NOT arg_${name})
      message(FATAL_ERROR "${function}(${arg_NAME}): ${name} is missing.")
    endif()
  endforeach()
endmacro()
