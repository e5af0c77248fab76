# Part of gpu-async, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# How tests are told to CTest, which alone knows what tests there are: each has a
# label, the suite, and those of the suite "quick" have that label as well. `./dev test` runs suites (test/suites.py), and so does
# `ctest -L <suite>` in a build folder.

include_guard(GLOBAL)
include(ProcessorCount)
ProcessorCount(GPUASYNC_PROCESSORS)

# gpuasync_add_test(<name> SUITE <suite> COMMAND <command>... [NEEDS <target>...]
#                   [ENVIRONMENT <name=value>...] [COST <seconds>]
#                   [ALL_PROCESSORS] [GPU] [QUICK])
# A test that passes if <command> exits with 0. The target <suite>-tests builds what
# the tests of a suite need. COST is about what it takes: the longest begin first.
# test/suites.py sets the time limit, which depends on the machine.
# Tests with GPU use one where there is one, and don't share it. Tests with QUICK take
# seconds, and belong to the suite "quick", too.
function(gpuasync_add_test name)
  cmake_parse_arguments(ARG "ALL_PROCESSORS;GPU;QUICK" "SUITE;COST" "COMMAND;NEEDS;ENVIRONMENT" ${ARGN})
  add_test(NAME ${name} COMMAND ${ARG_COMMAND} COMMAND_EXPAND_LISTS)
  # Tests do not depend on what earlier runs left, and reports have lines. The tools
  # bring ASAN_OPTIONS of their own: SanitizerDefaults.cpp. Hundreds of tests run in a
  # child, at whose end ThreadSanitizer would wait a second each time.
  set(environment GPU_ASYNC_CACHE=off ${ARG_ENVIRONMENT})
  if(GPUASYNC_SANITIZE)
    find_program(GPUASYNC_SYMBOLIZER NAMES llvm-symbolizer-22 llvm-symbolizer HINTS /usr/lib/llvm-22/bin)
    list(APPEND environment UBSAN_OPTIONS=print_stacktrace=1
      TSAN_OPTIONS=halt_on_error=0:second_deadlock_stack=1:atexit_sleep_ms=20
      ASAN_SYMBOLIZER_PATH=${GPUASYNC_SYMBOLIZER} TSAN_SYMBOLIZER_PATH=${GPUASYNC_SYMBOLIZER})
  endif()
  set(suites ${ARG_SUITE})
  if(ARG_QUICK)
    list(APPEND suites quick)
  endif()
  list(REMOVE_DUPLICATES suites)
  set_tests_properties(${name} PROPERTIES LABELS "${suites}"
    ENVIRONMENT "${environment}")
  if(ARG_COST)
    set_tests_properties(${name} PROPERTIES COST ${ARG_COST})
  endif()
  if(ARG_ALL_PROCESSORS)
    set_tests_properties(${name} PROPERTIES PROCESSORS ${GPUASYNC_PROCESSORS})
  endif()
  if(ARG_GPU)
    set_tests_properties(${name} PROPERTIES RESOURCE_LOCK gpu)
  endif()
  foreach(suite IN LISTS suites)
    if(NOT TARGET ${suite}-tests)
      add_custom_target(${suite}-tests)
    endif()
    if(ARG_NEEDS)
      add_dependencies(${suite}-tests ${ARG_NEEDS})
    endif()
  endforeach()
endfunction()
