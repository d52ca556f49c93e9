# What `cmake --install` puts down: headers, libraries, programs and the package that find_package(ferry) reads.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(ferry_config_dir "${CMAKE_INSTALL_LIBDIR}/cmake/ferry")
get_property(ferry_libraries GLOBAL PROPERTY FERRY_LIBRARIES)
install(TARGETS ${ferry_libraries} EXPORT ferry-targets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT ferry-targets NAMESPACE ferry:: DESTINATION "${ferry_config_dir}")
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/ferry-config.cmake.in"
  "${PROJECT_BINARY_DIR}/generated/ferry-config.cmake" INSTALL_DESTINATION "${ferry_config_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/generated/ferry-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/generated/ferry-config.cmake"
  "${PROJECT_BINARY_DIR}/generated/ferry-config-version.cmake"
  DESTINATION "${ferry_config_dir}")
