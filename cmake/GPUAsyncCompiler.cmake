# Part of gpu-async, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Helpers of the compiler half: find MLIR, TableGen rules, libraries and tools.
# Everything links the shared libMLIR and libLLVM; mixing in MLIR's static
# archives would give two copies of MLIR's globals in one process. libgpuasync
# alone has the archives instead, and hides all that is of them.

include_guard(GLOBAL)
include(GPUAsyncPCH)

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
    "${PROJECT_SOURCE_DIR}/lib" "${PROJECT_SOURCE_DIR}/runtime/include")
  target_compile_definitions(gpuasync_compiler_flags INTERFACE
    ${GPUASYNC_LLVM_DEFINITIONS})
  target_compile_options(gpuasync_compiler_flags INTERFACE
    -fPIC -fno-exceptions -Wno-unused-parameter -Wno-missing-field-initializers)
  # Statistics of passes are larger in an LLVM with assertions. Ours are too, then.
  if(LLVM_ENABLE_ASSERTIONS)
    target_compile_options(gpuasync_compiler_flags INTERFACE -UNDEBUG)
  endif()
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

# gpuasync_add_library(<name> [SOURCES] <file>... [LINK_LIBS <lib>...]
#                      [DEPENDS <target>...])
# A static library of the compiler half, installed and exported.
function(gpuasync_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK_LIBS;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name}
    PRIVATE $<BUILD_INTERFACE:gpuasync_compiler_flags>
    PUBLIC ${ARG_LINK_LIBS} MLIR LLVM)
  gpuasync_use_pch(${name} gpuasync_compiler_flags)
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
  gpuasync_use_pch(${name} gpuasync_compiler_flags)
  add_dependencies(${name} gpuasync-headers)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  # The same run path before and after installation: CMake would fill up one of the
  # build tree that is shorter with empty entries, which mean the current folder.
  set(run_path "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}" "$ORIGIN/../lib" ${LLVM_LIBRARY_DIRS})
  list(REMOVE_DUPLICATES run_path)
  # -fPIC comes from the flags: -fPIE would not fit the precompiled header.
  set_target_properties(${name} PROPERTIES
    POSITION_INDEPENDENT_CODE OFF
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin"
    BUILD_WITH_INSTALL_RPATH ON
    INSTALL_RPATH "${run_path}")
  if(NOT ARG_NO_INSTALL)
    install(TARGETS ${name} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT compiler)
  endif()
endfunction()
