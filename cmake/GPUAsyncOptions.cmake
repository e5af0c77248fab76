# Part of gpu-async, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What every target of ours is compiled with: language level, warnings,
# sanitizers, ccache and lld. Included by the project and by runtime/ alone.

include_guard(GLOBAL)

set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

option(GPUASYNC_WERROR "Treat warnings in our code as errors" ON)
set(GPUASYNC_SANITIZE "" CACHE STRING
    "Sanitizers for our code: empty, address,undefined or thread")

# ccache gets its settings on the command line, so that nobody has to export
# them. The sloppiness is what precompiled headers need; the base directory lets
# build folders of one checkout share objects.
option(GPUASYNC_CCACHE "Compile through ccache when it is installed" ON)
if(GPUASYNC_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(CCACHE_PROGRAM ccache)
  if(CCACHE_PROGRAM)
    set(CMAKE_CXX_COMPILER_LAUNCHER
        "${CMAKE_COMMAND}" -E env
        "CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime"
        "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" CCACHE_NOHASHDIR=true CCACHE_PCH_EXTSUM=true
        "${CCACHE_PROGRAM}")
    set(CMAKE_C_COMPILER_LAUNCHER "${CMAKE_CXX_COMPILER_LAUNCHER}")
  endif()
endif()

add_compile_options(-Wall -Wextra)
if(GPUASYNC_WERROR)
  add_compile_options(-Werror)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # Without a timestamp equal precompiled headers are equal files, which is what
  # ccache compares.
  add_compile_options("SHELL:-Xclang -fno-pch-timestamp" -fcolor-diagnostics)
  find_program(GPUASYNC_LLD NAMES ld.lld-22 ld.lld HINTS /usr/lib/llvm-22/bin)
  if(GPUASYNC_LLD)
    add_link_options(--ld-path=${GPUASYNC_LLD})
  endif()
endif()

if(GPUASYNC_SANITIZE)
  add_compile_options(-fsanitize=${GPUASYNC_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${GPUASYNC_SANITIZE})
  if(GPUASYNC_SANITIZE MATCHES "undefined")
    # Calls of code that a JIT made cannot be checked by `function`: it reads what
    # lies before the callee.
    add_compile_options(-fno-sanitize-recover=undefined)
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      add_compile_options(-fno-sanitize=function)
    endif()
  endif()
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # The shared runtime, because a test replaces operator new, which the static
    # one defines too.
    execute_process(COMMAND "${CMAKE_CXX_COMPILER}" -print-runtime-dir
      OUTPUT_VARIABLE sanitizer_dir OUTPUT_STRIP_TRAILING_WHITESPACE)
    add_link_options(-shared-libsan "-Wl,-rpath,${sanitizer_dir}")
  endif()
  # A shared library may leave the sanitizer's symbols to the program.
  set(GPUASYNC_ALLOW_UNDEFINED ON)
endif()
