# Part of gpu-async, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The relocatable CMake package, find_package(GPUAsync CONFIG), and files for
# pkg-config. Included by the project, and by runtime/ when that is built alone.

include(CMakePackageConfigHelpers)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/GPUAsync")

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/GPUAsyncConfig.cmake.in"
  "${CMAKE_CURRENT_BINARY_DIR}/GPUAsyncConfig.cmake"
  INSTALL_DESTINATION "${package_dir}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/GPUAsyncConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
    "${CMAKE_CURRENT_BINARY_DIR}/GPUAsyncConfig.cmake"
    "${CMAKE_CURRENT_BINARY_DIR}/GPUAsyncConfigVersion.cmake"
  DESTINATION "${package_dir}" COMPONENT runtime)
# gpuasync_install_pc(<name> <component> <include folder>): <name>.pc, which finds
# the package from where it is itself. The one in the build folder is for the
# libraries there and the headers of the sources.
set(pc_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
function(gpuasync_install_pc name component headers)
  set(template "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${name}.pc.in")
  set(GPUASYNC_PC_PREFIX "\${pcfiledir}")
  set(GPUASYNC_PC_LIBDIR "${CMAKE_BINARY_DIR}/lib")
  get_filename_component(GPUASYNC_PC_INCLUDEDIR "${headers}" ABSOLUTE)
  configure_file("${template}" "${CMAKE_CURRENT_BINARY_DIR}/${name}.pc" @ONLY)
  file(RELATIVE_PATH up "/${pc_dir}" "/")
  string(REGEX REPLACE "/$" "" up "${up}")
  set(GPUASYNC_PC_PREFIX "\${pcfiledir}/${up}")
  set(GPUASYNC_PC_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
  set(GPUASYNC_PC_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
  configure_file("${template}" "${CMAKE_CURRENT_BINARY_DIR}/installed/${name}.pc" @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/installed/${name}.pc" DESTINATION "${pc_dir}" COMPONENT ${component})
endfunction()
gpuasync_install_pc(gpuasync runtime "${CMAKE_CURRENT_LIST_DIR}/../runtime/include")
install(FILES "${CMAKE_CURRENT_LIST_DIR}/../LICENSE"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/gpu-async" COMPONENT runtime)

if(GPUASYNC_BUILD_COMPILER AND TARGET GPUAsyncCompiler)
  if(TARGET gpuasync AND NOT GPUASYNC_SANITIZE)
    install(EXPORT GPUAsyncLibraryTargets NAMESPACE GPUAsync::
      DESTINATION "${package_dir}" COMPONENT compiler)
    gpuasync_install_pc(gpuasync-library compiler "${CMAKE_CURRENT_LIST_DIR}/../include")
  endif()
  install(EXPORT GPUAsyncCompilerTargets NAMESPACE GPUAsync::
    DESTINATION "${package_dir}" COMPONENT compiler)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/GPUAsync"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT compiler
    FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "*.def")
  install(DIRECTORY "${PROJECT_BINARY_DIR}/include/GPUAsync"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT compiler
    FILES_MATCHING PATTERN "*.inc" PATTERN CMakeFiles EXCLUDE)
endif()
