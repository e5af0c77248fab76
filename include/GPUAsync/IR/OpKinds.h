//===- OpKinds.h - which form or side an op belongs to ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Host or device, upstream's or ours, and what only the stream form has.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_IR_OPKINDS_H
#define GPUASYNC_IR_OPKINDS_H

#include "mlir/IR/Operation.h"

namespace mlir::gpuasync {

/// Whether `op` keeps a program's kernels, in any form: gpu.module, gpu.binary,
/// gpu_async.binary. Nothing in it is host code.
bool holdsKernels(Operation *op);

/// Whether the ops in `op` are code of kernels: gpu.module, gpu.launch.
bool isKernelCode(Operation *op);

/// Whether `op` is of the gpu or async dialect, which the import replaces in
/// host code.
bool isUpstreamOp(Operation *op);

/// The first op in `function` by which the program gives a device work or
/// memory itself: of the gpu dialect, of ours, or work of another one. Numbers
/// of ranks are no work. Null: there is none.
Operation *findDeviceWork(Operation *function);

/// Whether `op`, which is no work, belongs to the stream form only.
bool isStreamFormOp(Operation *op);

} // namespace mlir::gpuasync

#endif // GPUASYNC_IR_OPKINDS_H
