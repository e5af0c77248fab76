//===- GPUAsyncOps.h - ops of the gpu_async dialect -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The op classes and the interface of ops that do device work.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_IR_GPUASYNCOPS_H
#define GPUASYNC_IR_GPUASYNCOPS_H

#include "GPUAsync/IR/GPUAsyncDialect.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::gpuasync::detail {
/// What holds for every work op in all forms (see WorkOpInterface).
LogicalResult verifyWorkOp(Operation *op);
} // namespace mlir::gpuasync::detail

#include "GPUAsync/IR/GPUAsyncInterfaces.h.inc"

#define GET_OP_CLASSES
#include "GPUAsync/IR/GPUAsyncOps.h.inc"

#endif // GPUASYNC_IR_GPUASYNCOPS_H
