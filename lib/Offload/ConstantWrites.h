//===- ConstantWrites.h - writes to constant globals ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A write to a constant is lost, or ends the process.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_OFFLOAD_CONSTANTWRITES_H
#define GPUASYNC_LIB_OFFLOAD_CONSTANTWRITES_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::gpuasync::offload {

/// Refuses ops that write a `memref.global constant`, or a view of one. What a
/// select, a region or a call makes of it is not looked at.
LogicalResult refuseConstantWrites(ModuleOp module);

} // namespace mlir::gpuasync::offload

#endif // GPUASYNC_LIB_OFFLOAD_CONSTANTWRITES_H
