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
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::cpu;

/// The address of the element that `op` reads and writes, as a pointer of the
/// host.
static Value buildAddress(OpBuilder &builder, memref::GenericAtomicRMWOp op) {
  Location loc = op.getLoc();
  auto type = cast<MemRefType>(op.getMemref().getType());
  type =
      MemRefType::get(type.getShape(), type.getElementType(), type.getLayout());
  LLVMTypeConverter converter(builder.getContext());
  Value descriptor =
      UnrealizedConversionCastOp::create(
          builder, loc, converter.convertType(type), op.getMemref())
          .getResult(0);
  SmallVector<Value> indices;
  for (Value index : op.getIndices())
    indices.push_back(arith::IndexCastOp::create(
        builder, loc, converter.getIndexType(), index));
  return LLVM::getStridedElementPtr(builder, loc, converter, type, descriptor,
                                    indices);
}

void cpu::makeWorkgroupAtomicsPlain(Operation *root) {
  auto isPlain = [](Value memref) {
    auto type = dyn_cast<MemRefType>(memref.getType());
    return type && isWorkgroupSpace(type.getMemorySpace()) &&
           LLVM::isCompatibleType(type.getElementType());
  };
  SmallVector<memref::GenericAtomicRMWOp> ops;
  root->walk([&](Operation *op) {
    if (auto atomic = dyn_cast<memref::AtomicRMWOp>(op)) {
      if (isPlain(atomic.getMemref()))
        ops.push_back(makeGenericAtomic(atomic));
    } else if (auto atomic = dyn_cast<memref::GenericAtomicRMWOp>(op)) {
      if (isPlain(atomic.getMemref()))
        ops.push_back(atomic);
    }
  });
  for (memref::GenericAtomicRMWOp op : ops) {
    OpBuilder builder(op);
    Value address = buildAddress(builder, op);
    auto load =
        LLVM::LoadOp::create(builder, op.getLoc(), op.getType(), address);
    IRMapping mapping;
    mapping.map(op.getCurrentValue(), load);
    Block *body = op.getBody();
    for (Operation &inner : body->without_terminator())
      builder.clone(inner, mapping);
    Value next = mapping.lookupOrDefault(body->getTerminator()->getOperand(0));
    auto store = LLVM::StoreOp::create(builder, op.getLoc(), next, address);
    load->setAttr(inOrderName, builder.getUnitAttr());
    store->setAttr(inOrderName, builder.getUnitAttr());
    op.replaceAllUsesWith(load.getResult());
    op.erase();
  }
}
