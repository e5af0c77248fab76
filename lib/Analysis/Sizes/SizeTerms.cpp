//===- SizeTerms.cpp - What sizes of arrays are made of -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See SizeTerms.h.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Sizes/SizeTerms.h"
#include "GPUAsync/IR/GPUAsyncOps.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::gpuasync;

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

SizeTerm SizeTerms::get(OpFoldResult size) {
  if (std::optional<int64_t> constant = getConstantIntValue(size))
    return SizeTerm::constant(*constant);
  auto value = cast<Value>(size);
  auto dimension = [&](Value array, Value index) {
    std::optional<int64_t> dim = getConstantIntValue(index);
    auto type = dyn_cast<ShapedType>(array.getType());
    return dim && type && type.hasRank() && *dim >= 0 && *dim < type.getRank()
               ? get(array, *dim)
               : SizeTerm::index(value);
  };
  if (auto dim = value.getDefiningOp<tensor::DimOp>())
    return dimension(dim.getSource(), dim.getIndex());
  if (auto dim = value.getDefiningOp<memref::DimOp>())
    return dimension(dim.getSource(), dim.getIndex());
  return SizeTerm::index(value);
}

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

/// `term` where `array` is; its own dimension if that does not see the term.
static SizeTerm makeVisible(SizeTerm term, Value array, int64_t dim) {
  if (term.isConstant() ||
      term.value.getParentRegion()->isAncestor(array.getParentRegion()))
    return term;
  return SizeTerm::dimension(array, dim);
}

SizeTerm SizeTerms::get(Value array, int64_t dim) {
  auto type = cast<ShapedType>(array.getType());
  if (!type.isDynamicDim(dim))
    return SizeTerm::constant(type.getDimSize(dim));
  if (auto found = assumed.find({array, dim}); found != assumed.end())
    return found->second;
  if (auto found = known.find({array, dim}); found != known.end())
    return found->second;
  SizeTerm term = makeVisible(find(array, dim), array, dim);
  // A term that rests on an assumption is not known yet.
  if (assumed.empty())
    known[{array, dim}] = term;
  return term;
}

SizeTerm SizeTerms::find(Value array, int64_t dim) {
  if (auto argument = dyn_cast<BlockArgument>(array))
    return findCarried(argument, dim);
  return findResult(cast<OpResult>(array), dim);
}

/// The size of what a loop carries, if no round changes it.
SizeTerm SizeTerms::carry(Value argument, Value first, Value next,
                          int64_t dim) {
  SizeTerm size = get(first, dim);
  assumed[{argument, dim}] = size;
  bool isKept = get(next, dim) == size;
  assumed.erase({argument, dim});
  return isKept ? size : SizeTerm::dimension(argument, dim);
}

SizeTerm SizeTerms::findCarried(BlockArgument argument, int64_t dim) {
  Operation *parent = argument.getOwner()->getParentOp();
  if (auto loop = dyn_cast_or_null<scf::ForOp>(parent))
    if (OpOperand *first = loop.getTiedLoopInit(argument))
      return carry(argument, first->get(),
                   loop.getTiedLoopYieldedValue(argument)->get(), dim);
  if (auto loop = dyn_cast_or_null<scf::WhileOp>(parent)) {
    unsigned number = argument.getArgNumber();
    if (argument.getOwner() == loop.getBeforeBody())
      return carry(argument, loop.getInits()[number],
                   loop.getYieldOp().getOperand(number), dim);
    return get(loop.getConditionOp().getArgs()[number], dim);
  }
  if (auto loop = dyn_cast_or_null<scf::ForallOp>(parent))
    if (OpOperand *shared = loop.getTiedOpOperand(argument))
      return get(shared->get(), dim);
  return SizeTerm::dimension(argument, dim);
}

/// The number of the dimension of a slice's source that is dimension `dim` of
/// the slice.
template <typename SliceOp>
static int64_t getSourceDim(SliceOp op, int64_t dim) {
  llvm::SmallBitVector dropped = op.getDroppedDims();
  for (int64_t i = 0, rank = dropped.size(); i < rank; ++i)
    if (!dropped.test(i) && dim-- == 0)
      return i;
  llvm_unreachable("a slice has as many dimensions as are not dropped");
}

/// How many dynamic sizes come in front of dimension `dim`.
static int64_t countDynamic(Type type, int64_t dim) {
  return llvm::count_if(cast<ShapedType>(type).getShape().take_front(dim),
                        ShapedType::isDynamic);
}

SizeTerm SizeTerms::findResult(OpResult result, int64_t dim) {
  Operation *op = result.getOwner();
  SizeTerm own = SizeTerm::dimension(result, dim);
  auto dynamicSize = [&](ValueRange sizes) {
    return get(OpFoldResult(sizes[countDynamic(result.getType(), dim)]));
  };
  if (op->hasTrait<OpTrait::Elementwise>()) {
    // Operands with constant sizes come first.
    SizeTerm size = own;
    for (Value operand : op->getOperands()) {
      auto type = dyn_cast<RankedTensorType>(operand.getType());
      if (!type)
        continue;
      SizeTerm other = get(operand, dim);
      if (other.isConstant() || size == own)
        size = other;
      if (size.isConstant())
        break;
    }
    return size;
  }
  return TypeSwitch<Operation *, SizeTerm>(op)
      .Case<tensor::EmptyOp, tensor::SplatOp, memref::AllocOp, memref::AllocaOp,
            gpu::AllocOp, gpuasync::AllocOp>(
          [&](auto made) { return dynamicSize(made.getDynamicSizes()); })
      .Case([&](tensor::GenerateOp made) {
        return dynamicSize(made.getDynamicExtents());
      })
      .Case([&](bufferization::AllocTensorOp made) {
        return made.getCopy() ? get(made.getCopy(), dim)
                              : dynamicSize(made.getDynamicSizes());
      })
      .Case<tensor::CastOp, memref::CastOp>([&](auto cast) {
        auto type = dyn_cast<ShapedType>(cast.getSource().getType());
        return type && type.hasRank() ? get(cast.getSource(), dim) : own;
      })
      .Case<tensor::ExtractSliceOp, memref::SubViewOp>([&](auto slice) {
        return get(slice.getMixedSizes()[getSourceDim(slice, dim)]);
      })
      .Case<tensor::ExpandShapeOp, memref::ExpandShapeOp>(
          [&](auto expand) { return get(expand.getMixedOutputShape()[dim]); })
      .Case<tensor::CollapseShapeOp, memref::CollapseShapeOp>(
          [&](auto collapse) {
            // Only one of the dimensions that become one may count.
            SizeTerm size = SizeTerm::constant(1);
            auto groups = collapse.getReassociationIndices();
            for (int64_t each : groups[dim]) {
              SizeTerm next = get(collapse.getSrc(), each);
              if (next.isConstant(1))
                continue;
              if (!size.isConstant(1))
                return own;
              size = next;
            }
            return size;
          })
      .Case<tensor::InsertOp, tensor::InsertSliceOp>(
          [&](auto insert) { return get(insert.getDest(), dim); })
      .Case([&](tensor::GatherOp gather) {
        const int64_t batch = gather.getIndicesType().getRank() - 1;
        if (dim < batch)
          return get(gather.getIndices(), dim);
        const bool keepsRank = gather.getResultType().getRank() ==
                               batch + gather.getSourceType().getRank();
        int64_t next = batch;
        for (int64_t from = 0; from < gather.getSourceType().getRank(); ++from)
          if (!llvm::is_contained(gather.getGatherDims(), from)) {
            if (next++ == dim)
              return get(gather.getSource(), from);
          } else if (keepsRank && next++ == dim) {
            return SizeTerm::constant(1);
          }
        return own;
      })
      .Case([&](tensor::ReshapeOp reshape) {
        auto shape = reshape.getShape().getDefiningOp<tensor::FromElementsOp>();
        return shape && shape.getElements()[dim].getType().isIndex()
                   ? get(OpFoldResult(shape.getElements()[dim]))
                   : own;
      })
      .Case([&](tensor::ConcatOp concat) {
        return int64_t(concat.getDim()) == dim
                   ? own
                   : get(concat.getInputs().front(), dim);
      })
      .Case([&](bufferization::ToTensorOp tensor) {
        return get(tensor.getBuffer(), dim);
      })
      .Case([&](bufferization::ToBufferOp buffer) {
        return get(buffer.getTensor(), dim);
      })
      .Case([&](scf::ForOp loop) {
        return get(loop.getRegionIterArg(result.getResultNumber()), dim);
      })
      .Case([&](scf::WhileOp loop) {
        return get(loop.getConditionOp().getArgs()[result.getResultNumber()],
                   dim);
      })
      .Case([&](scf::ForallOp loop) {
        return get(loop.getOutputs()[result.getResultNumber()], dim);
      })
      .Case([&](scf::IfOp branches) {
        unsigned number = result.getResultNumber();
        SizeTerm size = get(branches.thenYield().getOperand(number), dim);
        return get(branches.elseYield().getOperand(number), dim) == size ? size
                                                                         : own;
      })
      .Case([&](DestinationStyleOpInterface destination) {
        OpOperand *init = destination.getTiedOpOperand(result);
        return init ? get(init->get(), dim) : own;
      })
      .Default([&](Operation *) { return own; });
}

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

SizeTerm EqualSizes::find(SizeTerm term) const {
  while (!term.isConstant()) {
    auto parent = parents.find({term.value, term.number});
    if (parent == parents.end())
      break;
    term = parent->second;
  }
  return term;
}

void EqualSizes::add(SizeTerm a, SizeTerm b) {
  a = find(a);
  b = find(b);
  if (a == b || (a.isConstant() && b.isConstant()))
    return;
  if (a.isConstant())
    std::swap(a, b);
  parents[{a.value, a.number}] = b;
}
