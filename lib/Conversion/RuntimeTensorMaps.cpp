//===- RuntimeTensorMaps.cpp - tensor maps to runtime calls ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nvgpu.tma.create.descriptor becomes a call that encodes the tensor map into
// stack memory, and a load of it: a value like any other from there on.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Conversion/KernelABI.h"
#include "RuntimeLowering.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::runtime;

/// CUtensorMapDataType of an element; nothing if it has none. Copies move bytes
/// as they are, so an element without a name of its own goes by its size.
static std::optional<uint32_t> getElementTypeCode(Type type) {
  if (type.isF16())
    return 6;
  if (type.isF32())
    return 7;
  if (type.isF64())
    return 8;
  if (type.isBF16())
    return 9;
  if (type.isIndex())
    return 5;
  if (!type.isIntOrFloat())
    return std::nullopt;
  bool isUnsigned = type.isUnsignedInteger();
  switch (type.getIntOrFloatBitWidth()) {
  case 8:
    return 0;
  case 16:
    return 1;
  case 32:
    return isUnsigned ? 2 : 3;
  case 64:
    return isUnsigned ? 4 : 5;
  default:
    return std::nullopt;
  }
}

namespace {

class TensorMapLowering {
public:
  TensorMapLowering(nvgpu::TmaCreateDescriptorOp op, FunctionState &state)
      : op(op), type(op.getTensorMap().getType()), state(state),
        tables(state.tables), builder(op), loc(op.getLoc()) {
    // Usually the unranked memref is the cast of a ranked one.
    tensor = op.getTensor();
    if (auto cast = tensor.getDefiningOp<memref::CastOp>();
        cast && isa<MemRefType>(cast.getSource().getType()))
      tensor = cast.getSource();
  }

  LogicalResult lower();

private:
  LogicalResult check();
  void readRanked();
  void readUnranked();
  Value storeAll(FunctionState::Storage which, ArrayRef<Value> values);
  Value int64(int64_t value) {
    return tables.constant(builder, loc, tables.i64(), value);
  }
  Value at(Value address, LLVM::GEPArg words) {
    return LLVM::GEPOp::create(builder, loc, tables.ptr(), tables.i64(),
                               address, ArrayRef<LLVM::GEPArg>(words));
  }

  nvgpu::TmaCreateDescriptorOp op;
  nvgpu::TensorMapDescriptorType type;
  FunctionState &state;
  Tables &tables;
  OpBuilder builder;
  Location loc;
  Value tensor;
  uint32_t elementType = 0;
  /// What the call takes: the first element's address, both arrays, the rank.
  Value base, sizes, strides, rank;
};

} // namespace

LogicalResult TensorMapLowering::check() {
  Type element = op.getTensor().getType().getElementType();
  std::optional<uint32_t> code = getElementTypeCode(element);
  if (!code)
    return op.emitOpError()
           << "cannot make a tensor map of elements of type " << element
           << ": there are integers of 8, 16, 32 and 64 bits and floats of "
              "those sizes";
  elementType = *code;
  if (type.getOob() == nvgpu::TensorMapOOBKind::OOB_NAN &&
      !isa<FloatType>(element))
    return op.emitOpError() << "reads NaN beyond a tensor of " << element
                            << ": only floats have that (oob = zero)";

  // What kernels expect of the descriptor is in its type.
  MemRefType box = type.getTensor();
  if (box.getElementType() != element)
    return op.emitOpError()
           << "makes a descriptor for boxes of " << box.getElementType()
           << " from a tensor of " << element;
  size_t boxRank = op.getBoxDimensions().size();
  if (!boxRank || box.getRank() != static_cast<int64_t>(boxRank))
    return op.emitOpError()
           << "has a box of " << boxRank
           << " dimensions, but its descriptor is for boxes "
              "of "
           << box.getRank() << ", " << box << "; there are 1 to 5";
  for (auto [i, value] : llvm::enumerate(op.getBoxDimensions())) {
    APInt size;
    if (matchPattern(value, m_ConstantInt(&size)) && !box.isDynamicDim(i) &&
        size != box.getDimSize(i))
      return op.emitOpError()
             << "has " << size.getSExtValue() << " in dimension " << i
             << " of the box, but its descriptor is for boxes of " << box;
  }

  auto ranked = dyn_cast<MemRefType>(tensor.getType());
  if (!ranked)
    return success();
  SmallVector<int64_t> known;
  int64_t offset;
  if (failed(ranked.getStridesAndOffset(known, offset)))
    return op.emitOpError("needs a memref with strides");
  if (ranked.getRank() != static_cast<int64_t>(boxRank)) {
    InFlightDiagnostic diag = op.emitOpError() << "has a box of " << boxRank
                                               << " dimensions for a tensor of "
                                               << ranked.getRank();
    diag.attachNote(tensor.getLoc()) << "the tensor";
    return diag;
  }
  if (!ShapedType::isDynamic(known.back()) && known.back() != 1) {
    InFlightDiagnostic diag = op.emitOpError()
                              << "needs a tensor whose last dimension is "
                                 "contiguous, not with a stride of "
                              << known.back();
    diag.attachNote(tensor.getLoc()) << "the tensor";
    return diag;
  }
  return success();
}

Value TensorMapLowering::storeAll(FunctionState::Storage which,
                                  ArrayRef<Value> values) {
  Value storage = state.getStorage(which, 8 * values.size());
  for (auto [i, value] : llvm::enumerate(values))
    LLVM::StoreOp::create(builder, loc, value, state.getAddress(which, 8 * i));
  return storage;
}

void TensorMapLowering::readRanked() {
  auto memref = cast<MemRefType>(tensor.getType());
  MemRefDescriptor descriptor(state.toLLVM(builder, tensor));
  base = descriptor.bufferPtr(builder, loc, state.converter, memref);
  SmallVector<int64_t> known;
  int64_t offset;
  (void)memref.getStridesAndOffset(known, offset);
  SmallVector<Value> allSizes, allStrides;
  for (int64_t i = 0, e = memref.getRank(); i < e; ++i) {
    allSizes.push_back(memref.isDynamicDim(i) ? descriptor.size(builder, loc, i)
                                              : int64(memref.getDimSize(i)));
    allStrides.push_back(ShapedType::isDynamic(known[i])
                             ? descriptor.stride(builder, loc, i)
                             : int64(known[i]));
  }
  sizes = storeAll(FunctionState::Sizes, allSizes);
  strides = storeAll(FunctionState::StridesA, allStrides);
  rank = tables.constant(builder, loc, tables.i32(), memref.getRank());
}

/// The descriptor in memory is {allocated, aligned, offset, sizes[rank],
/// strides[rank]}.
void TensorMapLowering::readUnranked() {
  UnrankedMemRefDescriptor unranked(state.toLLVM(builder, tensor));
  Value words = unranked.rank(builder, loc);
  Value descriptor = unranked.memRefDescPtr(builder, loc);
  Value aligned =
      LLVM::LoadOp::create(builder, loc, tables.ptr(), at(descriptor, 1));
  Value offset =
      LLVM::LoadOp::create(builder, loc, tables.i64(), at(descriptor, 2));
  Type element = state.converter.convertType(
      cast<BaseMemRefType>(tensor.getType()).getElementType());
  base = LLVM::GEPOp::create(builder, loc, tables.ptr(), element, aligned,
                             ArrayRef<LLVM::GEPArg>(offset));
  sizes = at(descriptor, 3);
  strides = at(sizes, words);
  rank = LLVM::TruncOp::create(builder, loc, tables.i32(), words);
}

LogicalResult TensorMapLowering::lower() {
  if (failed(check()))
    return failure();
  if (isa<MemRefType>(tensor.getType()))
    readRanked();
  else
    readUnranked();
  SmallVector<Value> dims;
  for (Value dim : op.getBoxDimensions())
    dims.push_back(state.toLLVM(builder, dim));
  Value box = storeAll(FunctionState::StridesB, dims);

  auto address = [&](FlatSymbolRefAttr symbol) {
    return tables.addressOf(builder, loc, symbol);
  };
  Value format = address(
      tables.addTensorFormat({elementType, static_cast<uint32_t>(dims.size()),
                              static_cast<uint32_t>(type.getInterleave()),
                              static_cast<uint32_t>(type.getSwizzle()),
                              static_cast<uint32_t>(type.getL2promo()),
                              static_cast<uint32_t>(type.getOob())}));
  Value map =
      state.getStorage(FunctionState::TensorMap, GPUASYNC_TENSOR_MAP_BYTES);
  tables.call(builder, loc, gpuasync_tensor_map_encode_name, {},
              {state.frame, map, base, sizes, strides, rank, box, format,
               address(tables.addSite(op))});
  Value value = LLVM::LoadOp::create(
      builder, loc, getTensorMapType(op.getContext()), map, tensorMapAlignment);
  op.getTensorMap().replaceAllUsesWith(state.fromLLVM(builder, type, value));
  // A cast that nobody else needs would still put a descriptor on the stack.
  Operation *cast = op.getTensor().getDefiningOp<memref::CastOp>();
  op.erase();
  if (cast && cast->use_empty())
    cast->erase();
  return success();
}

LogicalResult runtime::lowerTensorMap(nvgpu::TmaCreateDescriptorOp op,
                                      FunctionState &state) {
  return TensorMapLowering(op, state).lower();
}
