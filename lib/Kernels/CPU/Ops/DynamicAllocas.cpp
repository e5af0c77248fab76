//===- DynamicAllocas.cpp - private memory of unknown size ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a thread allocates on the stack in a size that is known at run time only
// is checked there: more than there is would end the process.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Memory/TypeLayout.h"
#include "GPUAsync/KernelMemory.h"
#include "Kernels/CPU/Kernel.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::cpu;

/// Whether the alloca has `most` bytes at the most, computed without wrapping
/// around: factors are cut down to one more than that.
static Value isWithin(OpBuilder &builder, memref::AllocaOp alloca,
                      int64_t most) {
  Location loc = alloca.getLoc();
  auto index = [&](int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  auto type = alloca.getType();
  auto cut = [&](Value value) -> Value {
    return arith::MinUIOp::create(builder, loc, value, index(most + 1));
  };
  Value bytes =
      cut(index(std::max<int64_t>(getElementBytes(type.getElementType()), 1)));
  size_t next = 0;
  for (int64_t size : type.getShape()) {
    Value factor = ShapedType::isDynamic(size)
                       ? alloca.getDynamicSizes()[next++]
                       : index(size).getResult();
    bytes = cut(arith::MulIOp::create(builder, loc, bytes, cut(factor)));
  }
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ule, bytes,
                               index(most));
}

void cpu::boundDynamicAllocas(Operation *root) {
  SmallVector<memref::AllocaOp> allocas;
  root->walk([&](memref::AllocaOp alloca) {
    if (!alloca.getDynamicSizes().empty() &&
        alloca->getParentOfType<func::FuncOp>())
      allocas.push_back(alloca);
  });
  if (allocas.empty())
    return;
  // Half of a thread's stack is for variables of constant sizes.
  const int64_t most = cpuKernelMemory.privateBytes / 2 / allocas.size();
  for (memref::AllocaOp alloca : allocas) {
    OpBuilder builder(alloca);
    cf::AssertOp::create(
        builder, alloca.getLoc(), isWithin(builder, alloca, most),
        builder.getStringAttr(
            "a thread allocates more than " + Twine(most) +
            " bytes of private memory: allocate it before the launch, with a "
            "part for each thread"));
  }
}
