//===- CpuKernel.h - Entries of a cpu image, by hand ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the compiler would say of the kernels that tests write.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TEST_CPUKERNEL_H
#define GPUASYNC_TEST_CPUKERNEL_H

#include "gpuasync/RuntimeABI.h"

namespace gpuasync_test {

/// A kernel of no more than 16 operations a thread, without variables on the
/// stack.
constexpr gpuasync_cpu_kernel cpuKernel(const char *name,
                                        gpuasync_cpu_block_fn function,
                                        uint32_t flags = 0,
                                        uint64_t workgroupBytes = 0) {
  return {name, function,       workgroupBytes,    flags,  /*threadBytes=*/0,
          0,    /*reserved=*/0, /*operations=*/16, nullptr};
}

} // namespace gpuasync_test

#endif // GPUASYNC_TEST_CPUKERNEL_H
