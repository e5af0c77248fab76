# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Around the use of the package in README.md. It was installed to ~/gpu-async.
cmake_minimum_required(VERSION 3.25)
project(Package LANGUAGES C CXX)
list(APPEND CMAKE_PREFIX_PATH "$ENV{HOME}/gpu-async" /usr/lib/llvm-22)
file(WRITE "${CMAKE_BINARY_DIR}/compiler.cpp" "#include \"GPUAsync/Pipelines/Pipelines.h\"\nint main() { return 0; }\n")
file(WRITE "${CMAKE_BINARY_DIR}/program.cpp" "#include \"gpuasync/Context.h\"\nint main() { return gpuasync::Context().get() != nullptr; }\n")
add_executable(compiler "${CMAKE_BINARY_DIR}/compiler.cpp")
target_compile_options(compiler PRIVATE -fno-exceptions)
add_executable(program "${CMAKE_BINARY_DIR}/program.cpp")
# @BLOCK@
