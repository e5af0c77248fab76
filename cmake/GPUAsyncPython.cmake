# Part of gpu-async, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The Python of tests and of the package: the one that Python3_EXECUTABLE names, else
# the first with what tests import. `./dev setup` installs that for Debian's, which
# need not be the first in PATH.

if(NOT Python3_EXECUTABLE)
  find_program(GPUASYNC_PYTHON_IN_PATH python3)
  mark_as_advanced(GPUASYNC_PYTHON_IN_PATH)
  foreach(python IN ITEMS "${GPUASYNC_PYTHON_IN_PATH}" /usr/bin/python3)
    execute_process(COMMAND "${python}" -c "import numpy, psutil"
      RESULT_VARIABLE lacks OUTPUT_QUIET ERROR_QUIET)
    if(lacks EQUAL 0)
      set(Python3_EXECUTABLE "${python}" CACHE FILEPATH "The Python of tests and of the package")
      break()
    endif()
  endforeach()
endif()
