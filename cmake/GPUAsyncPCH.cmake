# Part of gpu-async, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Precompiled headers that ccache can share.

include_guard(GLOBAL)

set(GPUASYNC_USE_PCH OFF)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND CMAKE_GENERATOR STREQUAL "Ninja")
  set(GPUASYNC_USE_PCH ON)
endif()

# gpuasync_add_pch(<name> <header> <flags>): a target that precompiles <header> for
# targets that link the interface library <flags>. It must say all that they are
# compiled with besides the options of the whole project, -fPIC too.
#
# CMake's own rule names the result by an absolute path, which makes every build
# folder a cache miss; relative to the build folder, ccache shares all that includes
# it. It is itself made without ccache: it holds the path of the checkout that it was
# made from. So that checkouts share objects too, ccache goes by a sum of the
# preprocessed text. What CMake makes of the list of dependencies wants the whole
# path; with another one every build would begin here.
function(gpuasync_add_pch name header interface)
  if(NOT GPUASYNC_USE_PCH)
    add_custom_target(${name})
    return()
  endif()
  cmake_path(GET header FILENAME out)
  set(out "pch/${out}")
  set_target_properties(${interface} PROPERTIES GPUASYNC_PCH "${out}.pch" GPUASYNC_PCH_TARGET ${name})
  get_target_property(definitions ${interface} INTERFACE_COMPILE_DEFINITIONS)
  get_target_property(options ${interface} INTERFACE_COMPILE_OPTIONS)
  get_target_property(includes ${interface} INTERFACE_SYSTEM_INCLUDE_DIRECTORIES)
  get_directory_property(directory_options COMPILE_OPTIONS)
  foreach(list definitions includes)
    if(NOT ${list})
      set(${list})
    endif()
  endforeach()
  list(TRANSFORM definitions REPLACE "^-D" "")
  list(TRANSFORM definitions PREPEND "-D")
  list(TRANSFORM includes PREPEND "-isystem")
  string(REPLACE "SHELL:" "" options "${directory_options};${options}")
  string(REPLACE " " ";" options "${options}")
  separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS}")
  set(command "${CMAKE_CXX_COMPILER}" ${definitions} ${includes} ${flags} ${options} -std=c++17)
  file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/pch")
  add_custom_command(OUTPUT "${CMAKE_BINARY_DIR}/${out}.pch"
    COMMAND ${command} -fpch-instantiate-templates -x c++-header
      -MD -MF ${out}.d -MT "${CMAKE_BINARY_DIR}/${out}.pch" -c "${header}" -o ${out}.pch
    COMMAND ${command} -x c++ -E -P "${header}" -o ${out}.i
    COMMAND "${CMAKE_COMMAND}" -E sha256sum ${out}.i > ${out}.pch.sum
    DEPENDS "${header}"
    DEPFILE "${CMAKE_BINARY_DIR}/${out}.d"
    WORKING_DIRECTORY "${CMAKE_BINARY_DIR}"
    COMMENT "Precompiling ${header}")
  add_custom_target(${name} DEPENDS "${CMAKE_BINARY_DIR}/${out}.pch")
endfunction()

# gpuasync_use_pch(<target> <flags>): compiles <target> with the header of <flags>.
# The objects must depend on the file, since only the target depends on the custom
# target. -fPIC comes from the flags: -fPIE would not fit.
function(gpuasync_use_pch target interface)
  if(NOT GPUASYNC_USE_PCH)
    return()
  endif()
  get_target_property(pch ${interface} GPUASYNC_PCH)
  get_target_property(name ${interface} GPUASYNC_PCH_TARGET)
  target_compile_options(${target} PRIVATE "SHELL:-include-pch ${pch}")
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "[.]cpp$")
  set_property(SOURCE ${sources} APPEND PROPERTY
    OBJECT_DEPENDS "${CMAKE_BINARY_DIR}/${pch}")
  add_dependencies(${target} ${name})
endfunction()
