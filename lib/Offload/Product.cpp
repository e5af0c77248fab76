//===- Product.cpp - matrix products that a library may compute -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Product.h.
//===----------------------------------------------------------------------===//

#include "Product.h"

#include "Contraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/raw_ostream.h"

#include <climits>
#include <cmath>

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::offload;

/// Multiplications below which a kernel is not slower.
static constexpr double leastWork = 64 * 64 * 64;

/// The function's word for an element; empty: it has none.
static StringRef getElementWord(Type type) {
  return type.isF16()    ? "f16"
         : type.isBF16() ? "bf16"
         : type.isF32()  ? "f32"
         : type.isF64()  ? "f64"
                         : "";
}

/// Whether the factors are the inputs' elements, not what these are cast to.
static bool multipliesInputs(linalg::LinalgOp op) {
  Block *body = op.getBlock();
  Value output = op.getMatchingBlockArgument(op.getDpsInitOperand(0));
  Operation *sum = body->getTerminator()->getOperand(0).getDefiningOp();
  auto product = sum->getOperand(sum->getOperand(0) == output)
                     .getDefiningOp<arith::MulFOp>();
  return product && isa<arith::AddFOp>(sum) &&
         isa<BlockArgument>(product.getLhs()) &&
         isa<BlockArgument>(product.getRhs());
}

std::optional<Product> Product::match(linalg::LinalgOp op, std::string &why) {
  std::optional<Contraction> contraction = Contraction::match(op);
  // With several sums or a window, or of whole numbers, it is another thing.
  if (!contraction || contraction->reductionLoops.size() != 1 ||
      !isa<FloatType>(contraction->getElementType(op.getDpsInitOperand(0))) ||
      !llvm::all_of(op.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isProjectedPermutation(); }))
    return std::nullopt;
  Product product(op);
  const unsigned row = contraction->rowLoop, column = contraction->columnLoop,
                 inner = contraction->reductionLoops.front();
  product.isBatch = !contraction->otherLoops.empty();
  auto set = [&](Matrix &matrix, OpOperand *operand, unsigned first,
                 unsigned second) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    SmallVector<unsigned> loops(contraction->otherLoops);
    loops.append({first, second});
    matrix.operand = operand;
    for (unsigned loop : loops)
      for (auto [place, result] : llvm::enumerate(map.getResults()))
        if (cast<AffineDimExpr>(result).getPosition() == loop)
          matrix.places.push_back(place);
    return matrix.places.size() == loops.size() &&
           map.getNumResults() == loops.size();
  };
  if (!set(product.a, contraction->rows, row, inner) ||
      !set(product.b, contraction->columns, inner, column) ||
      !set(product.c, op.getDpsInitOperand(0), row, column))
    return std::nullopt;
  double work = 1;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  for (int64_t size : sizes)
    work = ShapedType::isDynamic(size) || work == HUGE_VAL ? HUGE_VAL
                                                           : work * size;
  if (work < leastWork)
    return std::nullopt;

  llvm::raw_string_ostream os(why);
  if (contraction->otherLoops.size() > 1) {
    os << "it has " << contraction->otherLoops.size()
       << " dimensions of batches, and the library's functions have one";
    return std::nullopt;
  }
  for (int64_t size : sizes)
    if (!ShapedType::isDynamic(size) && size > INT_MAX) {
      os << "libraries count in 32 bits, which " << size << " is too much for";
      return std::nullopt;
    }
  Type type = contraction->getElementType(product.c.operand);
  product.element = getElementWord(type);
  if (product.element.empty() || !multipliesInputs(op) ||
      llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *operand) {
        return contraction->getElementType(operand) != type;
      })) {
    os << "it multiplies " << contraction->getElementType(product.a.operand)
       << " by " << contraction->getElementType(product.b.operand)
       << " and adds up in " << type
       << ", and the library's functions take one of f16, bf16, f32 and f64";
    return std::nullopt;
  }
  return product;
}

bool offload::isProductQuery(func::CallOp call) {
  return call.getCallee().starts_with("gpuasync_blas_has_");
}
