//===- RuntimeTensorMaps.cpp - tensor maps to runtime calls ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nvgpu.tma.create.descriptor becomes a call that encodes the tensor map into
// stack memory, and a load of it: a value like any other from there on.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Kernels/Common/KernelABI.h"
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
        tables(state.tables), builder(op), loc(op.getLoc()),
        tensor(lookThroughCast(op.getTensor())) {}

  LogicalResult lower();

private:
  LogicalResult check();

  nvgpu::TmaCreateDescriptorOp op;
  nvgpu::TensorMapDescriptorType type;
  FunctionState &state;
  Tables &tables;
  OpBuilder builder;
  Location loc;
  Value tensor;
  uint32_t elementType = 0;
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

LogicalResult TensorMapLowering::lower() {
  if (failed(check()))
    return failure();
  Value base = state.getStart(builder, loc, tensor);
  FunctionState::Shape shape = state.getShape(builder, loc, tensor);
  SmallVector<Value> dims;
  for (Value dim : op.getBoxDimensions())
    dims.push_back(toLLVM(builder, state.converter, dim));
  Value box = state.storeAll(builder, loc, FunctionState::StridesB, dims);

  FlatSymbolRefAttr symbol =
      tables.addTensorFormat({elementType, static_cast<uint32_t>(dims.size()),
                              static_cast<uint32_t>(type.getInterleave()),
                              static_cast<uint32_t>(type.getSwizzle()),
                              static_cast<uint32_t>(type.getL2promo()),
                              static_cast<uint32_t>(type.getOob())});
  Value format = tables.addressOf(builder, loc, symbol);
  Value map =
      state.getStorage(FunctionState::TensorMap, GPUASYNC_TENSOR_MAP_BYTES);
  tables.call(builder, loc, gpuasync_tensor_map_encode_name, {},
              {state.frame, tables.constant(builder, loc, tables.i32(), 0), map,
               base, shape.sizes, shape.strides, shape.rank, box, format,
               tables.site(builder, op)});
  Value value = LLVM::LoadOp::create(
      builder, loc, getTensorMapType(op.getContext()), map, tensorMapAlignment);
  op.getTensorMap().replaceAllUsesWith(fromLLVM(builder, type, value));
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
