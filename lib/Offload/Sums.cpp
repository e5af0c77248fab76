//===- Sums.cpp - long sums of floats, in pieces --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Sums.h. Cascaded summation: N. Higham, "The accuracy of floating point
// summation", 1993. The error grows with the sum of the pieces' lengths, not
// with their product.
//===----------------------------------------------------------------------===//

#include "Sums.h"

#include "Combiner.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::offload;

/// The most elements of a piece, of `most` wanted. Zero: the reduction has no
/// sum of floats, or a result that cannot be reduced in pieces.
static int64_t findMost(linalg::LinalgOp op, int64_t most) {
  // Complex numbers are added up one after the other, never by vectors.
  constexpr int64_t mostInTurn = 64;
  SmallVector<unsigned> loops;
  op.getReductionDims(loops);
  bool isSum = false;
  for (auto [result, output] : llvm::enumerate(op.getDpsInitsMutable())) {
    AffineMap map = op.getMatchingIndexingMap(&output);
    // An element of its own for each round is no reduction.
    if (llvm::any_of(loops,
                     [&](unsigned loop) { return map.isFunctionOfDim(loop); }))
      continue;
    Operation *combiner = findSum(op, result);
    if (!combiner)
      return 0;
    isSum |= isa<arith::AddFOp, complex::AddOp>(combiner);
    if (isa<complex::AddOp>(combiner))
      most = std::min(most, mostInTurn);
  }
  return isSum ? most : 0;
}

SmallVector<SumLoop> offload::cutSums(linalg::LinalgOp op, int64_t most) {
  // Pieces of pieces. They are short: there are few of these additions.
  constexpr int64_t mostPieces = 32;
  // How long a loop is taken to be if that is not known.
  constexpr int64_t usualRounds = 1 << 16;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  SmallVector<unsigned> loops;
  op.getReductionDims(loops);
  most = findMost(op, most);
  SmallVector<SumLoop> nest;
  // Elements of the piece that is open.
  int64_t elements = 1;
  for (unsigned loop : llvm::reverse(loops)) {
    const bool isKnown = !ShapedType::isDynamic(sizes[loop]);
    const int64_t size =
        isKnown ? std::max<int64_t>(sizes[loop], 1) : usualRounds;
    int64_t step = 1, left = size;
    while (most && elements * left > most) {
      int64_t taken = std::max<int64_t>(most / elements, 1);
      if (isKnown)
        taken = llvm::divideCeil(left, llvm::divideCeil(left, taken));
      if (taken > 1) {
        nest.push_back({loop, step, step * taken});
        step *= taken;
        left = llvm::divideCeil(left, taken);
      }
      nest.back().isOwn = true;
      elements = 1;
      most = mostPieces;
    }
    elements *= left;
    nest.push_back({loop, step});
  }
  std::reverse(nest.begin(), nest.end());
  return nest;
}
