//===- KernelNames.h - names of kernels -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel is named after what it computes and the sizes of that, so that a
// profile tells its reader something: matmul_tanh_128x3072x768.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_OFFLOAD_KERNELNAMES_H
#define GPUASYNC_LIB_OFFLOAD_KERNELNAMES_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <string>

namespace mlir::gpuasync::offload {

/// The name of the kernel that does the work of `ops`, which are in the order
/// of the program: words of what they compute, and the loops of the largest of
/// them ("D": of a size that is not known).
std::string nameKernel(ArrayRef<linalg::LinalgOp> ops);

/// The name that has been given to the loop that becomes a kernel.
void setKernelName(Operation *loop, StringRef name);
/// Empty: none.
StringRef getKernelName(Operation *loop);

} // namespace mlir::gpuasync::offload

#endif // GPUASYNC_LIB_OFFLOAD_KERNELNAMES_H
