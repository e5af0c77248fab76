# Part of gpu-async, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The relocatable CMake package: find_package(GPUAsync CONFIG).

include(CMakePackageConfigHelpers)
set(GPUASYNC_INSTALL_CMAKEDIR "${CMAKE_INSTALL_LIBDIR}/cmake/GPUAsync")
