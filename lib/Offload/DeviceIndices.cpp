//===- DeviceIndices.cpp - slices at places that the device computes ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A slice at a place that a kernel has computed would make the host wait for
// that kernel, to know where the slice begins. So kernels read the place
// themselves: such a slice is copied by a kernel, which upstream's fusion can
// put into what reads the slice.
//===----------------------------------------------------------------------===//

#include "BodyEffects.h"
#include "GPUAsync/Decision.h"
#include "GPUAsync/Offload/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCDEVICEINDICES
#include "GPUAsync/Offload/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::offload;

namespace {
/// Numbers of the host's code that are computed of elements on the device.
class DeviceNumbers {
public:
  explicit DeviceNumbers(PlaceMode place) : place(place) {}

  /// Whether the host would have to wait for the device to know `number`.
  bool isOnDevice(Value number);
  bool isAnyOnDevice(ArrayRef<OpFoldResult> numbers);

  /// The loads of single elements of which `numbers` are computed, where an op
  /// may have the tensor as an operand.
  SmallVector<tensor::ExtractOp> findLoads(ArrayRef<OpFoldResult> numbers);

  /// Computes `number` at the builder's place. `map` has what is there already.
  Value computeAgain(OpBuilder &builder, OpFoldResult number, Location loc,
                     IRMapping &map);

private:
  bool isTensorOnDevice(Value tensor) const;

  PlaceMode place;
  llvm::DenseMap<Value, bool> known;
};

struct DeviceIndices
    : public gpuasync::impl::GPUAsyncDeviceIndicesBase<DeviceIndices> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

/// Whether `op` computes numbers of numbers, and may do so elsewhere.
static bool isArithmetic(Operation *op) {
  return isPure(op) && !op->getNumRegions() &&
         llvm::none_of(op->getOperandTypes(), llvm::IsaPred<ShapedType>);
}

static bool hasOneElement(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && llvm::all_of(tensor.getShape(),
                                [](int64_t size) { return size == 1; });
}

bool DeviceNumbers::isTensorOnDevice(Value tensor) const {
  if (matchPattern(tensor, m_Constant()))
    return false;
  if (Operation *op = tensor.getDefiningOp())
    return !isa<tensor::FromElementsOp>(op);
  // Arrays that are copied to the device are the host's, too.
  return place != PlaceMode::Copy ||
         !isa<func::FuncOp>(tensor.getParentBlock()->getParentOp());
}

bool DeviceNumbers::isOnDevice(Value number) {
  Operation *op = number.getDefiningOp();
  if (!op)
    return false;
  auto [found, isNew] = known.try_emplace(number, false);
  if (!isNew)
    return found->second;
  bool isOn = false;
  if (auto load = dyn_cast<tensor::ExtractOp>(op))
    isOn = isTensorOnDevice(load.getTensor()) ||
           llvm::any_of(load.getIndices(),
                        [&](Value index) { return isOnDevice(index); });
  else if (isArithmetic(op))
    isOn = llvm::any_of(op->getOperands(),
                        [&](Value operand) { return isOnDevice(operand); });
  return known[number] = isOn;
}

bool DeviceNumbers::isAnyOnDevice(ArrayRef<OpFoldResult> numbers) {
  return llvm::any_of(numbers, [&](OpFoldResult number) {
    auto value = dyn_cast<Value>(number);
    return value && isOnDevice(value);
  });
}

SmallVector<tensor::ExtractOp>
DeviceNumbers::findLoads(ArrayRef<OpFoldResult> numbers) {
  SetVector<Value> reached;
  for (OpFoldResult number : numbers)
    if (auto value = dyn_cast<Value>(number))
      reached.insert(value);
  SmallVector<tensor::ExtractOp> loads;
  for (size_t i = 0; i < reached.size(); ++i) {
    if (!isOnDevice(reached[i]))
      continue;
    auto load = reached[i].getDefiningOp<tensor::ExtractOp>();
    if (load && hasOneElement(load.getTensor().getType()))
      loads.push_back(load);
    else
      for (Value operand : reached[i].getDefiningOp()->getOperands())
        reached.insert(operand);
  }
  return loads;
}

Value DeviceNumbers::computeAgain(OpBuilder &builder, OpFoldResult number,
                                  Location loc, IRMapping &map) {
  auto value = dyn_cast<Value>(number);
  if (!value)
    return getValueOrCreateConstantIndexOp(builder, loc, number);
  if (Value there = map.lookupOrNull(value))
    return there;
  if (!isOnDevice(value))
    return value;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    if (!isa<ShapedType>(operand.getType()))
      map.map(operand, computeAgain(builder, operand, loc, map));
  builder.clone(*op, map);
  return map.lookup(value);
}

/// The place in the whole of place `at` of a slice, which has all but the
/// `dropped` dimensions. `map` has what of its offsets is there already.
static SmallVector<Value> getPlace(OpBuilder &builder, Location loc,
                                   OffsetSizeAndStrideOpInterface slice,
                                   const llvm::SmallBitVector &dropped,
                                   ValueRange at, DeviceNumbers &numbers,
                                   IRMapping &map) {
  SmallVector<Value> place;
  for (auto [dim, offset, stride] :
       llvm::enumerate(slice.getMixedOffsets(), slice.getMixedStrides())) {
    place.push_back(numbers.computeAgain(builder, offset, loc, map));
    if (dropped.test(dim))
      continue;
    Value step = at.front();
    at = at.drop_front();
    if (!isConstantIntValue(stride, 1))
      step = arith::MulIOp::create(
          builder, loc, step,
          getValueOrCreateConstantIndexOp(builder, loc, stride));
    place.back() = builder.createOrFold<arith::AddIOp>(loc, place.back(), step);
  }
  return place;
}

/// A kernel reads where the slice begins, and copies it.
static void copySlice(tensor::ExtractSliceOp slice, DeviceNumbers &numbers) {
  IRRewriter rewriter(slice);
  Location loc = slice.getLoc();
  RankedTensorType type = slice.getType();
  const llvm::SmallBitVector dropped = slice.getDroppedDims();
  SmallVector<OpFoldResult> sizes;
  for (auto [dim, size] : llvm::enumerate(slice.getMixedSizes()))
    if (!dropped.test(dim))
      sizes.push_back(size);
  Value empty =
      tensor::EmptyOp::create(rewriter, loc, sizes, type.getElementType());
  if (empty.getType() != type)
    empty = tensor::CastOp::create(rewriter, loc, type, empty);
  // As operands, so that ops of one element are fused with the copy.
  SmallVector<tensor::ExtractOp> loads =
      numbers.findLoads(slice.getMixedOffsets());
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (tensor::ExtractOp load : loads) {
    inputs.push_back(load.getTensor());
    SmallVector<AffineExpr> zeros(load.getIndices().size(),
                                  rewriter.getAffineConstantExpr(0));
    maps.push_back(
        AffineMap::get(type.getRank(), 0, zeros, rewriter.getContext()));
  }
  maps.push_back(rewriter.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> parallel(type.getRank(),
                                            utils::IteratorType::parallel);
  rewriter.replaceOpWithNewOp<linalg::GenericOp>(
      slice, TypeRange{type}, inputs, ValueRange{empty}, maps, parallel,
      [&](OpBuilder &builder, Location loc, ValueRange arguments) {
        IRMapping map;
        for (auto [load, argument] : llvm::zip(loads, arguments))
          map.map(load.getResult(), argument);
        SmallVector<Value> at;
        for (int64_t dim = 0; dim < type.getRank(); ++dim)
          at.push_back(linalg::IndexOp::create(builder, loc, dim));
        SmallVector<Value> place =
            getPlace(builder, loc, cast<OffsetSizeAndStrideOpInterface>(*slice),
                     dropped, at, numbers, map);
        linalg::YieldOp::create(
            builder, loc,
            tensor::ExtractOp::create(builder, loc, slice.getSource(), place)
                .getResult());
      });
}

/// A kernel reads where the slice begins, and writes there.
static void writeSlice(tensor::InsertSliceOp insert, DeviceNumbers &numbers) {
  IRRewriter rewriter(insert);
  Location loc = insert.getLoc();
  RankedTensorType whole = insert.getDestType();
  const llvm::SmallBitVector dropped = insert.getDroppedDims();
  SmallVector<OpFoldResult> bounds;
  for (auto [dim, size] : llvm::enumerate(insert.getMixedSizes()))
    if (!dropped.test(dim))
      bounds.push_back(size);
  auto loop = scf::ForallOp::create(rewriter, loc, bounds,
                                    ValueRange{insert.getDest()}, std::nullopt);
  rewriter.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> at = loop.getInductionVars();
  Value written =
      tensor::ExtractOp::create(rewriter, loc, insert.getSource(), at);
  IRMapping map;
  SmallVector<OpFoldResult> places = getAsOpFoldResult(
      getPlace(rewriter, loc, cast<OffsetSizeAndStrideOpInterface>(*insert),
               dropped, at, numbers, map));
  SmallVector<OpFoldResult> ones(whole.getRank(), rewriter.getIndexAttr(1));
  Value output = loop.getRegionIterArgs().front();
  Value element =
      tensor::ExtractSliceOp::create(rewriter, loc, output, places, ones, ones);
  SmallVector<Value> zeros(whole.getRank(),
                           arith::ConstantIndexOp::create(rewriter, loc, 0));
  element = tensor::InsertOp::create(rewriter, loc, written, element, zeros);
  rewriter.setInsertionPointToStart(loop.getTerminator().getBody());
  tensor::ParallelInsertSliceOp::create(rewriter, loc, element, output, places,
                                        ones, ones);
  rewriter.replaceOp(insert, loop.getResults());
}

/// Whether all of the op but where it begins is known to the host.
static bool canTake(OffsetSizeAndStrideOpInterface slice,
                    DeviceNumbers &numbers) {
  // Inside of another op's body a thread has the slice.
  return isa<func::FuncOp, scf::ForOp, scf::WhileOp, scf::IfOp>(
             slice->getParentOp()) &&
         numbers.isAnyOnDevice(slice.getMixedOffsets()) &&
         !numbers.isAnyOnDevice(slice.getMixedSizes()) &&
         !numbers.isAnyOnDevice(slice.getMixedStrides());
}

void DeviceIndices::runOnOperation() {
  // The CPU device shares memory with the host, which waits at little cost;
  // there a slice that stays where it is saves the copy.
  if (device == OffloadDevice::CPU)
    return;
  DeviceNumbers numbers(place);
  SmallVector<OffsetSizeAndStrideOpInterface> slices;
  getOperation().walk([&](Operation *op) {
    if (isa<tensor::ExtractSliceOp, tensor::InsertSliceOp>(op) &&
        canTake(cast<OffsetSizeAndStrideOpInterface>(op), numbers))
      slices.push_back(cast<OffsetSizeAndStrideOpInterface>(op));
  });
  for (OffsetSizeAndStrideOpInterface op : slices) {
    Decision(*this, op, "SliceByDevice").count(numSlices, "slices");
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op.getOperation()))
      copySlice(slice, numbers);
    else
      writeSlice(cast<tensor::InsertSliceOp>(op.getOperation()), numbers);
  }
}
