# SPDX-License-Identifier: MIT
# Installs the libraries, the headers, a file for pkg-config and a package for
# CMake. The installed tree can be moved, because each file finds the others
# relative to itself. CMAKE_INSTALL_PREFIX must not be written into any file,
# because `cmake --install --prefix` does not change it there.

include(CMakePackageConfigHelpers)

set(tkw_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tickwheel)
install(TARGETS tickwheel tickwheel_static tickwheel_headers
        EXPORT tickwheelTargets)
set(tkw_has_queue OFF)
if(TARGET tickwheel_queue)
  set(tkw_has_queue ON)
  install(TARGETS tickwheel_queue tickwheel_queue_static
          EXPORT tickwheelTargets)
endif()
# The server is told the path of the module, and wants to be allowed to execute
# it.
install(TARGETS tkw_redis
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tickwheel
        PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ
                    GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
install(FILES ${PROJECT_SOURCE_DIR}/packaging/redis/tickwheel-module.conf
              ${PROJECT_SOURCE_DIR}/packaging/redis/tickwheel-exec-paths.conf
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/
                  ${PROJECT_SOURCE_DIR}/adapters/ TYPE INCLUDE
        FILES_MATCHING PATTERN "*.h")
install(FILES ${tkw_wheel_inline}
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tickwheel)

# The relative path has one more step if there is a folder per architecture, as in
# Debian. Absolute folders are used as they are.
set(pc_prefix ${CMAKE_INSTALL_PREFIX})
if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  file(RELATIVE_PATH up "/p/${CMAKE_INSTALL_LIBDIR}/pkgconfig" /p)
  string(REGEX REPLACE "/$" "" pc_prefix "\${pcfiledir}/${up}")
endif()
set(pc_includedir "\${prefix}")
cmake_path(APPEND pc_includedir "${CMAKE_INSTALL_INCLUDEDIR}")
set(pc_libdir "\${prefix}")
cmake_path(APPEND pc_libdir "${CMAKE_INSTALL_LIBDIR}")
configure_file(cmake/tickwheel.pc.in tickwheel.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tickwheel.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(TARGET tickwheel_queue)
  configure_file(cmake/tickwheel-queue.pc.in tickwheel-queue.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/tickwheel-queue.pc
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

# Before 1.0 a minor version may break the API, as with the soname.
set(compatible SameMajorVersion)
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatible SameMinorVersion)
endif()
configure_package_config_file(cmake/tickwheelConfig.cmake.in
  tickwheelConfig.cmake INSTALL_DESTINATION ${tkw_package_dir})
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/tickwheelConfigVersion.cmake
  COMPATIBILITY ${compatible})
install(FILES ${PROJECT_BINARY_DIR}/tickwheelConfig.cmake
              ${PROJECT_BINARY_DIR}/tickwheelConfigVersion.cmake
        DESTINATION ${tkw_package_dir})
install(EXPORT tickwheelTargets NAMESPACE tickwheel::
        DESTINATION ${tkw_package_dir})
