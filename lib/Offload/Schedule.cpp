//===- Schedule.cpp - how work is cut into blocks -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Schedule.h.
//===----------------------------------------------------------------------===//

#include "Schedule.h"

#include "mlir/Dialect/Linalg/IR/LinalgInterfaces.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::offload;

Schedule Schedule::get(OffloadDevice device) {
  if (device == OffloadDevice::CPU)
    return {/*threads=*/1, /*elements=*/16384, /*contraction=*/64,
            /*scratch=*/256 << 10};
  return {/*threads=*/256, /*elements=*/1024, /*contraction=*/32,
          /*scratch=*/40 << 10};
}

std::optional<int64_t> offload::getElementBytes(Type type) {
  if (type.isIntOrFloat())
    return llvm::divideCeil(type.getIntOrFloatBitWidth(), 8);
  if (type.isIndex())
    return 8;
  auto times = [](int64_t count, std::optional<int64_t> bytes) {
    return bytes ? std::optional(count * *bytes) : std::nullopt;
  };
  if (auto complex = dyn_cast<ComplexType>(type))
    return times(2, getElementBytes(complex.getElementType()));
  if (auto vector = dyn_cast<VectorType>(type); vector && !vector.isScalable())
    return times(vector.getNumElements(),
                 getElementBytes(vector.getElementType()));
  return std::nullopt;
}

bool offload::isContraction(linalg::LinalgOp op) {
  return op.getNumReductionLoops() > 0 && linalg::isaContractionOpInterface(op);
}

SmallVector<int64_t> Schedule::chooseTile(linalg::LinalgOp op,
                                          const llvm::BitVector &tileable,
                                          bool isRow,
                                          bool hasContraction) const {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  SmallVector<int64_t> tile(sizes.size(), 0);
  if (hasContraction) {
    // The last two loops are tiles, those before them one at a time.
    unsigned left = 2;
    for (int loop = tileable.find_last(); loop >= 0;
         loop = tileable.find_prev(loop)) {
      tile[loop] = left ? contraction : 1;
      left -= left > 0;
    }
    return tile;
  }
  // As many elements as a block may have, from the innermost loop on: what a
  // row needs counts for each.
  int64_t left = elements;
  if (isRow)
    for (auto [loop, size] : llvm::enumerate(sizes))
      if (!tileable.test(loop))
        left /= ShapedType::isDynamic(size) ? left : std::max<int64_t>(size, 1);
  if (isRow && threads > 1)
    left = 1;
  for (int loop = tileable.find_last(); loop >= 0;
       loop = tileable.find_prev(loop)) {
    int64_t size = ShapedType::isDynamic(sizes[loop]) ? left : sizes[loop];
    tile[loop] = std::max<int64_t>(std::min(size, left), 1);
    left /= tile[loop];
  }
  return tile;
}
