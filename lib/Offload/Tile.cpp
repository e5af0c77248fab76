//===- Tile.cpp - sizes of tiles that a program says ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Upstream's rewrites of linalg ops drop attributes that they do not know.
//===----------------------------------------------------------------------===//

#include "Tile.h"

#include "GPUAsync/Offload/Passes.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::offload;

/// What each loop of the op does; nothing for an op that has no tiles.
static std::optional<SmallVector<utils::IteratorType>> getLoops(Operation *op) {
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return structured.getIteratorTypesArray();
  if (!OpTrait::hasElementwiseMappableTraits(op) || op->getNumResults() != 1)
    return std::nullopt;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type)
    return std::nullopt;
  return SmallVector<utils::IteratorType>(type.getRank(),
                                          utils::IteratorType::parallel);
}

static LogicalResult verifyTile(Operation *op, Attribute attribute) {
  auto loops = getLoops(op);
  if (!loops)
    return op->emitOpError()
           << "has '" << kTileAttrName
           << "', which linalg ops of loops and elementwise ops on tensors "
              "have";
  auto tile = dyn_cast<DenseI64ArrayAttr>(attribute);
  if (!tile || tile.size() != int64_t(loops->size()))
    return op->emitOpError() << "has '" << kTileAttrName << " = " << attribute
                             << "'; it is array<i64: ...> of " << loops->size()
                             << " numbers, one for each loop (0: not cut)";
  for (auto [number, each] :
       llvm::enumerate(llvm::zip_equal(tile.asArrayRef(), *loops))) {
    auto [size, loop] = each;
    if (size < 0)
      return op->emitOpError()
             << "has '" << kTileAttrName << "' with " << size << " for loop "
             << number << "; sizes are 1 or more, 0 does not cut";
    // Blocks add to one result without an order.
    if (size != 0 && loop != utils::IteratorType::parallel)
      return op->emitOpError() << "has '" << kTileAttrName << "' with " << size
                               << " for loop " << number
                               << ", a reduction, which tiles do not cut: "
                                  "give it 0";
  }
  return success();
}

LogicalResult offload::verifyTiles(Operation *root) {
  bool isRight = true;
  root->walk([&](Operation *op) {
    if (Attribute tile = op->getDiscardableAttr(kTileAttrName))
      isRight &= succeeded(verifyTile(op, tile));
  });
  return success(isRight);
}

static void setTile(Operation *op, DenseI64ArrayAttr tile) {
  auto loops = getLoops(op);
  if (!loops || tile.size() != int64_t(loops->size()))
    return;
  for (auto [size, loop] : llvm::zip_equal(tile.asArrayRef(), *loops))
    if (size != 0 && loop != utils::IteratorType::parallel)
      return;
  op->setDiscardableAttr(kTileAttrName, tile);
}

static DenseI64ArrayAttr getTile(Operation *op) {
  return dyn_cast_or_null<DenseI64ArrayAttr>(
      op->getDiscardableAttr(kTileAttrName));
}

void offload::keepTile(Operation *from, Operation *to) {
  if (DenseI64ArrayAttr tile = getTile(from))
    setTile(to, tile);
}

void KeepTile::notifyPatternBegin(const Pattern &, Operation *op) {
  tile = getTile(op);
}

void KeepTile::notifyPatternEnd(const Pattern &, LogicalResult) { tile = {}; }

void KeepTile::notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) {
  if (!tile)
    return;
  // The scalar op in place of one on tensors is given all of its attributes.
  if (!getLoops(op))
    op->removeDiscardableAttr(kTileAttrName);
  else if (isa<linalg::LinalgOp>(op))
    setTile(op, tile);
}
