//===- CallerStack.h - Room on the calling thread's stack -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads of the host program run small kernels themselves. Their stacks may
// have 16 KB, or be a fiber's.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_DEVICE_CPU_CALLERSTACK_H
#define GPUASYNC_DEVICE_CPU_CALLERSTACK_H

#include <stdint.h>

namespace gpuasync {
namespace cpu {

/// Whether a kernel with so many bytes of variables (`stackBytes` of its table)
/// can run on the calling thread, with room for spilled registers and what it
/// calls. False on a stack that is not the one that the thread was made with,
/// as those of fibers and of signal handlers: nobody knows where these end.
/// Any thread may call it; a thread's first call asks the system.
bool hasStack(uint32_t stackBytes) noexcept;

} // namespace cpu
} // namespace gpuasync

#endif // GPUASYNC_DEVICE_CPU_CALLERSTACK_H
