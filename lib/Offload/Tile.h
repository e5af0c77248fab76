//===- Tile.h - sizes of tiles that a program says --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The attribute gpu_async.tile: what is wrong with one is an error, and an op
// keeps it when it takes another form.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_OFFLOAD_TILE_H
#define GPUASYNC_LIB_OFFLOAD_TILE_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::gpuasync::offload {

/// An error at each op whose tile does not fit its loops.
LogicalResult verifyTiles(Operation *root);

/// Gives the tile of `from`, if it has one, to an op with the same loops.
void keepTile(Operation *from, Operation *to);

/// Keeps the tile of an op in whose place a pattern puts another one.
class KeepTile : public RewriterBase::Listener {
public:
  void notifyPatternBegin(const Pattern &pattern, Operation *op) override;
  void notifyPatternEnd(const Pattern &pattern, LogicalResult status) override;
  void notifyOperationInserted(Operation *op,
                               OpBuilder::InsertPoint previous) override;

private:
  /// Of the op that the pattern begins with, which may be gone before its end.
  DenseI64ArrayAttr tile;
};

} // namespace mlir::gpuasync::offload

#endif // GPUASYNC_LIB_OFFLOAD_TILE_H
