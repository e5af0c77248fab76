//===- WorkgroupAtomics.cpp - atomics on workgroup memory -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One thread of the host runs a whole block, so an atomic on memory that only
// the block sees is a read, an operation and a write: a locked instruction
// costs twenty times as much. The accesses say that they are not independent of
// those of other threads, so that loops over threads run them in order.
//===----------------------------------------------------------------------===//

#include "Kernels/CPU/Kernel.h"
#include "Kernels/Common/KernelLowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::cpu;

/// The address of an element, as a pointer of the host.
static Value buildAddress(OpBuilder &builder, Location loc, Value memref,
                          ValueRange indices) {
  auto type = cast<MemRefType>(memref.getType());
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Type i64 = builder.getI64Type();
  SmallVector<Type> fields{pointer, pointer, i64};
  if (int64_t rank = type.getRank())
    fields.append(2, LLVM::LLVMArrayType::get(i64, rank));
  auto structType =
      LLVM::LLVMStructType::getLiteral(builder.getContext(), fields);
  Value descriptor =
      UnrealizedConversionCastOp::create(builder, loc, structType, memref)
          .getResult(0);
  auto field = [&](Type fieldType, ArrayRef<int64_t> position) -> Value {
    return LLVM::ExtractValueOp::create(builder, loc, fieldType, descriptor,
                                        position);
  };
  Value place = field(i64, 2);
  for (auto [i, index] : llvm::enumerate(indices)) {
    Value number = arith::IndexCastOp::create(builder, loc, i64, index);
    Value step = LLVM::MulOp::create(builder, loc, number,
                                     field(i64, {4, static_cast<int64_t>(i)}));
    place = LLVM::AddOp::create(builder, loc, place, step);
  }
  return LLVM::GEPOp::create(builder, loc, pointer, type.getElementType(),
                             field(pointer, 1), ArrayRef<Value>{place});
}

/// Replaces `op`, an atomic on `indices` of `memref`, by what `compute` makes
/// of the old value.
static void replaceByPlain(Operation *op, Value memref, ValueRange indices,
                           function_ref<Value(OpBuilder &, Value)> compute) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  Type type = cast<MemRefType>(memref.getType()).getElementType();
  Value address = buildAddress(builder, loc, memref, indices);
  Value old = LLVM::LoadOp::create(builder, loc, type, address);
  auto store =
      LLVM::StoreOp::create(builder, loc, compute(builder, old), address);
  for (Operation *access : {old.getDefiningOp(), store.getOperation()})
    access->setAttr(inOrderName, builder.getUnitAttr());
  op->getResult(0).replaceAllUsesWith(old);
  op->erase();
}

void cpu::makeWorkgroupAtomicsPlain(Operation *root) {
  auto isPlain = [](Value memref) {
    auto type = dyn_cast<MemRefType>(memref.getType());
    return type && isWorkgroupSpace(type.getMemorySpace()) &&
           LLVM::isCompatibleType(type.getElementType());
  };
  SmallVector<Operation *> ops;
  root->walk([&](Operation *op) {
    if (auto atomic = dyn_cast<memref::AtomicRMWOp>(op)) {
      if (isPlain(atomic.getMemref()))
        ops.push_back(op);
    } else if (auto atomic = dyn_cast<memref::GenericAtomicRMWOp>(op)) {
      if (isPlain(atomic.getMemref()))
        ops.push_back(op);
    }
  });
  for (Operation *op : ops) {
    if (auto atomic = dyn_cast<memref::AtomicRMWOp>(op)) {
      replaceByPlain(op, atomic.getMemref(), atomic.getIndices(),
                     [&](OpBuilder &builder, Value old) -> Value {
                       if (atomic.getKind() == arith::AtomicRMWKind::assign)
                         return atomic.getValue();
                       return arith::getReductionOp(atomic.getKind(), builder,
                                                    op->getLoc(), old,
                                                    atomic.getValue());
                     });
      continue;
    }
    auto atomic = cast<memref::GenericAtomicRMWOp>(op);
    replaceByPlain(op, atomic.getMemref(), atomic.getIndices(),
                   [&](OpBuilder &builder, Value old) -> Value {
                     IRMapping mapping;
                     mapping.map(atomic.getCurrentValue(), old);
                     Block *body = atomic.getBody();
                     for (Operation &inner : body->without_terminator())
                       builder.clone(inner, mapping);
                     return mapping.lookupOrDefault(
                         body->getTerminator()->getOperand(0));
                   });
  }
}
