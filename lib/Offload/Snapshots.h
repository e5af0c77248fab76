//===- Snapshots.h - tensors that memory was read as ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A bufferization.to_tensor is the memref's elements where it stands.
// Bufferization reads them where the tensor is used.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_OFFLOAD_SNAPSHOTS_H
#define GPUASYNC_LIB_OFFLOAD_SNAPSHOTS_H

#include "mlir/IR/Region.h"

namespace mlir::gpuasync::offload {

/// Copies what each to_tensor reads if something may write that memory before
/// the tensor, or one that is computed of it, is used for the last time.
void takeSnapshots(Region &program);

} // namespace mlir::gpuasync::offload

#endif // GPUASYNC_LIB_OFFLOAD_SNAPSHOTS_H
