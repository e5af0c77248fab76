//===- KernelMemory.h - how much memory of its own a kernel has -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place that knows the bounds of each target. Tiles are chosen so that
// they stay within them, and the lowerings of kernels refuse what exceeds them.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_KERNELMEMORY_H
#define GPUASYNC_KERNELMEMORY_H

#include "gpuasync/RuntimeABI.h"

#include <cstdint>

namespace mlir::gpuasync {

/// Most bytes of memory that a kernel may declare.
struct KernelMemory {
  /// For each thread: stack on the cpu device, local memory on a GPU.
  int64_t privateBytes;
  /// For each block, beside what a launch asks for.
  int64_t workgroupBytes;
};

inline constexpr KernelMemory cpuKernelMemory = {GPUASYNC_CPU_STACK_BYTES,
                                                 GPUASYNC_CPU_WORKGROUP_BYTES};
/// PTX takes no more for any chip. AMD's chips have 64 KiB of workgroup memory,
/// and LLVM itself compares with what a chip has: kernels that are to run on
/// all GPUs stay within these bounds, too.
inline constexpr KernelMemory nvptxKernelMemory = {512 << 10, 48 << 10};

/// The least alignment of a variable of so many bytes in workgroup memory, on
/// all devices: threads access 16 bytes at a time, if that leaves no gaps.
constexpr int64_t getWorkgroupAlignment(uint64_t bytes) {
  return bytes && bytes % 16 == 0 ? 16 : 1;
}

} // namespace mlir::gpuasync

#endif // GPUASYNC_KERNELMEMORY_H
