# rooftune::rooftune: the rooms as one library, for those who use Rooftune: inside this build,
# through add_subdirectory, or installed and found with find_package(rooftune).

set(rooms base device device_fake device_cpu device_cuda store throughput tune ops)
list(TRANSFORM rooms REPLACE "(.+)" "$<TARGET_OBJECTS:rooftune_\\1>" OUTPUT_VARIABLE room_objects)
add_library(rooftune_library STATIC ${room_objects})
add_library(rooftune::rooftune ALIAS rooftune_library)
target_compile_features(rooftune_library INTERFACE cxx_std_23)
target_include_directories(rooftune_library
                           INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                     $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
# What the rooms link; headers that they use inside only are no concern of the user's. The library
# without a CMake package of its own is named, not placed, for the installed one: it may be used on
# a machine where that lies elsewhere.
target_link_libraries(rooftune_library
                      PRIVATE SQLite::SQLite3 fmt::fmt tomlplusplus::tomlplusplus
                              Threads::Threads ${CMAKE_DL_LIBS}
                              $<BUILD_INTERFACE:${CPUINFO_LIBRARY}>
                              $<INSTALL_INTERFACE:cpuinfo>)
# The name of its own leaves the file name build/rooftune to the command line.
set_target_properties(rooftune_library PROPERTIES OUTPUT_NAME rooftune EXPORT_NAME rooftune
                                                  LINKER_LANGUAGE CXX)

include(CMakePackageConfigHelpers)
set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/rooftune)
configure_package_config_file(cmake/rooftune-config.cmake.in rooftune-config.cmake
                              INSTALL_DESTINATION ${config_dir})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(rooftune-config-version.cmake COMPATIBILITY SameMinorVersion)
install(TARGETS rooftune_library EXPORT rooftune-targets)
install(EXPORT rooftune-targets NAMESPACE rooftune:: DESTINATION ${config_dir})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/rooftune-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/rooftune-config-version.cmake
        DESTINATION ${config_dir})
install(DIRECTORY include/rooftune DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")
