//===- Blob.h - A binary file as a constant ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C++17 has no #embed; the assembler's .incbin does the same.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_DEVICE_VENDOR_BLOB_H
#define GPUASYNC_DEVICE_VENDOR_BLOB_H

#include <stddef.h>

/// Defines the constants `NAME` and `NAMEEnd` around the bytes of the file
/// `PATH` of runtime/, and a zero after them. CMakeLists.txt must name the
/// file as a dependency of the source.
#define GPUASYNC_BLOB(NAME, PATH)                                              \
  extern "C" const char gpuasync_blob_##NAME[], gpuasync_blob_##NAME##_end[];  \
  asm(".pushsection .rodata\n"                                                 \
      ".balign 16\n"                                                           \
      ".hidden gpuasync_blob_" #NAME "\n"                                      \
      ".hidden gpuasync_blob_" #NAME "_end\n"                                  \
      ".globl gpuasync_blob_" #NAME "\n"                                       \
      ".globl gpuasync_blob_" #NAME "_end\n"                                   \
      "gpuasync_blob_" #NAME ":\n"                                             \
      ".incbin \"" GPUASYNC_RUNTIME_FOLDER "/" PATH "\"\n"                     \
      "gpuasync_blob_" #NAME "_end:\n"                                         \
      ".byte 0\n"                                                              \
      ".popsection\n")

#define GPUASYNC_BLOB_BYTES(NAME)                                              \
  static_cast<size_t>(gpuasync_blob_##NAME##_end - gpuasync_blob_##NAME)

#endif // GPUASYNC_DEVICE_VENDOR_BLOB_H
