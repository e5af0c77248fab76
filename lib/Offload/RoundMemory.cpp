//===- RoundMemory.cpp - what parallel loops allocate ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See RoundMemory.h.
//===----------------------------------------------------------------------===//

#include "RoundMemory.h"

#include "GPUAsync/Upstream/IntegerRanges.h"
#include "Kernels/Common/Allocas.h"
#include "Schedule.h"

#include "mlir/Analysis/DataFlow/ConstantPropagationAnalysis.h"
#include "mlir/Analysis/DataFlow/DeadCodeAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::offload;

/// The greatest value that a number may have, by the ranges of what it is
/// computed of.
static std::optional<int64_t> findMost(Value number) {
  DataFlowSolver solver;
  solver.load<dataflow::DeadCodeAnalysis>();
  // The analysis of dead code asks this one.
  solver.load<dataflow::SparseConstantPropagation>();
  solver.load<IntegerRanges>();
  if (failed(solver.initializeAndRun(
          number.getParentRegion()->getParentOfType<FunctionOpInterface>())))
    return std::nullopt;
  auto *state = solver.lookupState<dataflow::IntegerValueRangeLattice>(number);
  if (!state || state->getValue().isUninitialized())
    return std::nullopt;
  const APInt &most = state->getValue().getValue().smax();
  if (most.isMaxSignedValue())
    return std::nullopt;
  return most.getSExtValue();
}

/// The size that an allocation is given for the dimension.
static Value getGivenSize(Value memory, int64_t dim) {
  Operation *maker = memory.getDefiningOp();
  if (!isa_and_nonnull<memref::AllocOp, memref::AllocaOp>(maker))
    return {};
  return maker->getOperand(
      cast<MemRefType>(memory.getType()).getDynamicDimIndex(dim));
}

std::optional<int64_t> offload::findMostBytes(Value memory) {
  auto type = cast<MemRefType>(memory.getType());
  std::optional<int64_t> element = getElementBytes(type.getElementType());
  if (!type.getLayout().isIdentity() || !element)
    return std::nullopt;
  int64_t bytes = *element;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    int64_t size = type.getDimSize(dim);
    if (ShapedType::isDynamic(size)) {
      FailureOr<int64_t> most = ValueBoundsConstraintSet::computeConstantBound(
          presburger::BoundType::UB,
          ValueBoundsConstraintSet::Variable(memory, dim), nullptr,
          /*closedUB=*/true);
      Value given = getGivenSize(memory, dim);
      std::optional<int64_t> found = succeeded(most) ? *most
                                     : given         ? findMost(given)
                                                     : std::nullopt;
      if (!found)
        return std::nullopt;
      size = *found;
    }
    if (llvm::MulOverflow(bytes, size, bytes))
      return std::nullopt;
  }
  return bytes;
}

bool offload::isLaunched(Operation *loop) {
  return isa<scf::ForallOp, scf::ParallelOp>(loop) && !loop->getNumResults();
}

void offload::dropFreesOfLaunched(func::FuncOp function) {
  SmallVector<bufferization::DeallocOp> frees;
  function.walk([&](bufferization::DeallocOp op) {
    for (Operation *parent = op->getParentOp(); parent != function;
         parent = parent->getParentOp())
      if (isLaunched(parent)) {
        frees.push_back(op);
        return;
      }
  });
  for (bufferization::DeallocOp op : frees) {
    OpBuilder builder(op);
    auto notOwned = arith::ConstantOp::create(builder, op.getLoc(),
                                              builder.getBoolAttr(false));
    for (Value owned : op->getResults())
      owned.replaceAllUsesWith(notOwned);
    op->erase();
  }
}

/// What `op` is done once for: an iteration, or an element of a linalg op.
static Block &findOwner(Operation *op, gpu::LaunchOp launch) {
  for (Operation *inner = op, *outer = op->getParentOp();;
       inner = outer, outer = outer->getParentOp())
    if (outer == launch || isa<linalg::LinalgOp>(outer) || isLaunched(outer))
      return *inner->getBlock();
}

/// So many bytes on the stack in place of `op`.
static Operation *makeAlloca(Operation *op, int64_t bytes) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  Value before = op->getResult(0);
  auto type = cast<MemRefType>(before.getType());
  Value made = memref::AllocaOp::create(
      builder, loc,
      type.hasStaticShape()
          ? type
          : MemRefType::get(bytes, builder.getI8Type(),
                            MemRefLayoutAttrInterface(), type.getMemorySpace()),
      builder.getI64IntegerAttr(64));
  Value memory = made;
  if (!type.hasStaticShape())
    memory = memref::ViewOp::create(
        builder, loc, type, made,
        arith::ConstantIndexOp::create(builder, loc, 0), op->getOperands());
  before.replaceAllUsesWith(memory);
  op->erase();
  return made.getDefiningOp();
}

LogicalResult offload::separateRounds(gpu::LaunchOp launch) {
  SmallVector<Operation *> allocations;
  launch.getBody().walk([&](Operation *op) {
    if (isa<memref::AllocOp, memref::AllocaOp>(op))
      allocations.push_back(op);
  });
  DominanceInfo dominance(launch);
  for (Operation *op : allocations) {
    AddressFlow flow(op->getResult(0));
    for (Value holder : flow.getHolders())
      for (Operation *user : llvm::make_early_inc_range(holder.getUsers()))
        if (isa<memref::DeallocOp>(user))
          user->erase();
    if (flow.isLost() || isFreeWhenRunAgain(op, dominance))
      continue;
    std::optional<int64_t> bytes = findMostBytes(op->getResult(0));
    // That is an error when the memory is given its place.
    if (!bytes)
      continue;
    Block &owner = findOwner(op, launch);
    Location loc = op->getLoc();
    if (failed(boundCarriedAlloca(makeAlloca(op, *bytes), owner, dominance)))
      return emitError(loc, "a kernel cannot allocate memory that later rounds "
                            "of a loop hold by a number: allocate it before "
                            "the parallel loop");
  }
  return success();
}
