//===- GPUAsyncOps.h - ops of the gpu_async dialect -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The op classes and the interface of ops that do device work, of this dialect
// and of others.
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
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::gpuasync {

/// An access of a work op to the memory of one operand, a memref or a pointer.
struct WorkAccess {
  OpOperand *operand;
  bool reads = false;
  bool writes = false;
  /// The memory is gone afterwards.
  bool frees = false;
  /// The memory may be the host's own. The runtime has read it when the op has
  /// been enqueued, and has written it at the end of a host wait.
  bool mayBePageable = false;
  /// The part of the memref that is touched, as of a memref.subview. Empty: all
  /// of it. A pointer has no part.
  SmallVector<OpFoldResult> offsets = {}, sizes = {}, strides = {};
};

/// Whether `op` is of the gpu_async dialect, or work of another one.
bool isAsyncOp(Operation *op);
/// The kernel or library's function that `op` runs, null if it runs none.
SymbolRefAttr getCode(Operation *op);
/// Whether `op` is work that runs a kernel.
bool runsKernel(Operation *op);

/// Whether the destination of such a collective may be its source.
bool mayBeInPlace(CollectiveKind kind);
/// Whether the elements of the memref lie one after the other, as collectives
/// need them.
bool hasNoGaps(MemRefType type);

/// \name How a work op is ordered, as text
/// `async [%t]`, `on %stream`, or both; then `id(1 after [0])` if it has a
/// number in the schedule. For `custom<Order>` of assembly formats.
/// @{
ParseResult
parseOrder(OpAsmParser &parser, Type &tokenType,
           SmallVectorImpl<OpAsmParser::UnresolvedOperand> &dependencies,
           std::optional<OpAsmParser::UnresolvedOperand> &stream,
           IntegerAttr &id, DenseI64ArrayAttr &after);
void printOrder(OpAsmPrinter &printer, Operation *op, Type tokenType,
                OperandRange dependencies, Value stream, IntegerAttr id,
                DenseI64ArrayAttr after);
/// @}

} // namespace mlir::gpuasync

namespace mlir::gpuasync::detail {
/// What holds for every work op in all forms (see WorkOpInterface).
LogicalResult verifyWorkOp(Operation *op);
/// Adds all memrefs and pointers among the operands, as read and written.
void addAllOperands(Operation *op, SmallVectorImpl<WorkAccess> &accesses);
/// Adds the effects of a work op: on tokens, on its stream, and on memory.
void addWorkEffects(Operation *op,
                    SmallVectorImpl<MemoryEffects::EffectInstance> &effects);
} // namespace mlir::gpuasync::detail

#include "GPUAsync/IR/GPUAsyncInterfaces.h.inc"

#define GET_OP_CLASSES
#include "GPUAsync/IR/GPUAsyncOps.h.inc"

#endif // GPUASYNC_IR_GPUASYNCOPS_H
