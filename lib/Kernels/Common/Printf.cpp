//===- Printf.cpp - arguments of gpu.printf ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// printf takes no integer below 32 bits and no float but double; upstream's
// lowerings hand on what they get.
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::gpuasync;

/// The conversions of a format in their order.
static SmallVector<char> getConversions(StringRef format) {
  SmallVector<char> conversions;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%')
      continue;
    size_t end = format.find_first_not_of("0123456789.-+ #hlLjztq", i + 1);
    if (end == StringRef::npos)
      break;
    if (format[end] != '%')
      conversions.push_back(format[end]);
    i = end;
  }
  return conversions;
}

/// `isSigned` decides about small integers; a bit is 0 or 1.
static Value promote(OpBuilder &builder, Location loc, Value value,
                     bool isSigned) {
  Type type = value.getType();
  if (isa<FloatType>(type))
    return type.isF64() ? value
                        : arith::ExtFOp::create(builder, loc,
                                                builder.getF64Type(), value);
  unsigned width = type.getIntOrFloatBitWidth();
  Type wide = builder.getIntegerType(width <= 32 ? 32 : 64);
  if (type == wide)
    return value;
  if (isSigned && width > 1)
    return arith::ExtSIOp::create(builder, loc, wide, value);
  return arith::ExtUIOp::create(builder, loc, wide, value);
}

LogicalResult gpuasync::promotePrintfArguments(Operation *root,
                                               StringRef device) {
  WalkResult result = root->walk([&](gpu::PrintfOp op) -> WalkResult {
    SmallVector<char> conversions = getConversions(op.getFormat());
    OpBuilder builder(op);
    for (auto [i, operand] : llvm::enumerate(op.getArgsMutable())) {
      Value value = operand.get();
      if (value.getType().isIndex())
        continue;
      if (!value.getType().isIntOrFloat() ||
          value.getType().getIntOrFloatBitWidth() > 64)
        return op.emitOpError("argument of type ")
               << value.getType() << " is not supported by " << device;
      operand.set(promote(builder, op.getLoc(), value,
                          i >= conversions.size() || conversions[i] == 'd' ||
                              conversions[i] == 'i'));
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
