# Part of gpu-async, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Helpers of the compiler half: find MLIR, TableGen rules, libraries and tools.
# Everything links the shared libMLIR and libLLVM; mixing in MLIR's static
# archives would give two copies of MLIR's globals in one process.

include_guard(GLOBAL)

macro(gpuasync_find_mlir)
  find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
  message(STATUS "MLIR ${LLVM_PACKAGE_VERSION} in ${MLIR_DIR}")
  list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
  set(MLIR_MAIN_INCLUDE_DIR "${MLIR_INCLUDE_DIRS}")
  include(TableGen)
  separate_arguments(GPUASYNC_LLVM_DEFINITIONS UNIX_COMMAND "${LLVM_DEFINITIONS}")

  # What a target of the compiler half is compiled with, besides the options of
  # the whole project. Debian's LLVM has RTTI, and no exceptions.
  add_library(gpuasync_compiler_flags INTERFACE)
  target_include_directories(gpuasync_compiler_flags SYSTEM INTERFACE
    ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_include_directories(gpuasync_compiler_flags INTERFACE
    "${PROJECT_SOURCE_DIR}/include" "${PROJECT_BINARY_DIR}/include"
    "${PROJECT_SOURCE_DIR}/runtime/include")
  target_compile_definitions(gpuasync_compiler_flags INTERFACE
    ${GPUASYNC_LLVM_DEFINITIONS})
  target_compile_options(gpuasync_compiler_flags INTERFACE
    -fPIC -fno-exceptions -Wno-unused-parameter -Wno-missing-field-initializers)
endmacro()

# gpuasync_tablegen(<out> <td> <args>...): mlir-tblgen <args> <td> -o <out>; the
# outputs of one folder are collected for gpuasync_tablegen_target.
function(gpuasync_tablegen out td)
  set(LLVM_TARGET_DEFINITIONS "${td}")
  tablegen(MLIR "${out}" ${ARGN}
    "-I${PROJECT_SOURCE_DIR}/include" "-I${MLIR_INCLUDE_DIRS}")
  set(GPUASYNC_TABLEGEN_OUTPUT "${GPUASYNC_TABLEGEN_OUTPUT}" "${TABLEGEN_OUTPUT}"
    PARENT_SCOPE)
endfunction()

# gpuasync_tablegen_target(<name>): a target that makes this folder's outputs.
function(gpuasync_tablegen_target name)
  add_custom_target(${name} DEPENDS ${GPUASYNC_TABLEGEN_OUTPUT})
  add_dependencies(gpuasync-headers ${name})
endfunction()

# The precompiled header that all compiler libraries and tools share. CMake's own
# rule names it by an absolute path, which makes every build folder a cache miss;
# relative to the build folder, ccache shares all that includes it. It is itself
# made without ccache: it holds the path of the checkout that it was made from. So
# that checkouts share objects too, ccache goes by a sum of the preprocessed text.
# What CMake makes of the list of dependencies wants the whole path; with another
# one every build would begin here.
function(gpuasync_add_pch)
  get_target_property(definitions gpuasync_compiler_flags INTERFACE_COMPILE_DEFINITIONS)
  get_target_property(options gpuasync_compiler_flags INTERFACE_COMPILE_OPTIONS)
  get_directory_property(directory_options COMPILE_OPTIONS)
  list(TRANSFORM definitions REPLACE "^-D" "")
  list(TRANSFORM definitions PREPEND "-D")
  string(REPLACE "SHELL:" "" options "${directory_options};${options}")
  string(REPLACE " " ";" options "${options}")
  separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS}")
  file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/pch")
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND CMAKE_GENERATOR STREQUAL "Ninja")
    add_custom_command(OUTPUT "${CMAKE_BINARY_DIR}/pch/PCH.h.pch"
      COMMAND "${CMAKE_CXX_COMPILER}" ${definitions}
        -isystem ${MLIR_INCLUDE_DIRS} ${flags} ${options} -std=c++17
        -fpch-instantiate-templates -x c++-header -MD -MF pch/PCH.h.d
        -MT "${CMAKE_BINARY_DIR}/pch/PCH.h.pch"
        -c "${PROJECT_SOURCE_DIR}/cmake/PCH.h" -o pch/PCH.h.pch
      COMMAND "${CMAKE_CXX_COMPILER}" ${definitions}
        -isystem ${MLIR_INCLUDE_DIRS} ${flags} ${options} -std=c++17
        -x c++ -E -P "${PROJECT_SOURCE_DIR}/cmake/PCH.h" -o pch/PCH.h.i
      COMMAND "${CMAKE_COMMAND}" -E sha256sum pch/PCH.h.i > pch/PCH.h.pch.sum
      DEPENDS "${PROJECT_SOURCE_DIR}/cmake/PCH.h"
      DEPFILE "${CMAKE_BINARY_DIR}/pch/PCH.h.d"
      WORKING_DIRECTORY "${CMAKE_BINARY_DIR}"
      COMMENT "Precompiling cmake/PCH.h")
    add_custom_target(gpuasync-pch DEPENDS "${CMAKE_BINARY_DIR}/pch/PCH.h.pch")
  else()
    add_custom_target(gpuasync-pch)
  endif()
endfunction()

# gpuasync_use_pch(<target>): compiles <target> with it. The object must depend
# on the file, since only the target depends on the custom target.
function(gpuasync_use_pch target)
  if(NOT (CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND CMAKE_GENERATOR STREQUAL "Ninja"))
    return()
  endif()
  target_compile_options(${target} PRIVATE "SHELL:-include-pch pch/PCH.h.pch")
  get_target_property(sources ${target} SOURCES)
  set_property(SOURCE ${sources} APPEND PROPERTY
    OBJECT_DEPENDS "${CMAKE_BINARY_DIR}/pch/PCH.h.pch")
  add_dependencies(${target} gpuasync-pch)
endfunction()

# gpuasync_add_library(<name> [SOURCES] <file>... [LINK_LIBS <lib>...]
#                      [DEPENDS <target>...])
# A static library of the compiler half, installed and exported.
function(gpuasync_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK_LIBS;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name}
    PRIVATE $<BUILD_INTERFACE:gpuasync_compiler_flags>
    PUBLIC ${ARG_LINK_LIBS} MLIR LLVM)
  gpuasync_use_pch(${name})
  add_dependencies(${name} gpuasync-headers ${ARG_DEPENDS})
  set_property(GLOBAL APPEND PROPERTY GPUASYNC_COMPILER_LIBS ${name})
  install(TARGETS ${name} EXPORT GPUAsyncCompilerTargets
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT compiler)
endfunction()

# gpuasync_add_tool(<name> [SOURCES] <file>... [LINK_LIBS <lib>...]
#                   [DEPENDS <target>...] [NO_INSTALL])
# A program in <build>/bin.
function(gpuasync_add_tool name)
  cmake_parse_arguments(ARG "NO_INSTALL" "" "SOURCES;LINK_LIBS;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES} ${ARG_UNPARSED_ARGUMENTS})
  if(GPUASYNC_SANITIZE MATCHES "address")
    target_sources(${name} PRIVATE "${PROJECT_SOURCE_DIR}/cmake/SanitizerDefaults.cpp")
  endif()
  target_link_libraries(${name} PRIVATE gpuasync_compiler_flags ${ARG_LINK_LIBS} MLIR LLVM)
  gpuasync_use_pch(${name})
  add_dependencies(${name} gpuasync-headers)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  # -fPIC comes from the flags: -fPIE would not fit the precompiled header.
  set_target_properties(${name} PROPERTIES
    POSITION_INDEPENDENT_CODE OFF
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin"
    INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR};${LLVM_LIBRARY_DIRS}")
  if(NOT ARG_NO_INSTALL)
    install(TARGETS ${name} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT compiler)
  endif()
endfunction()
