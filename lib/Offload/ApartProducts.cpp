//===- ApartProducts.cpp - matrix products that are fused with nothing ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See ApartProducts.h.
//===----------------------------------------------------------------------===//

#include "ApartProducts.h"

#include "Product.h"
#include "Schedule.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::offload;

// On an H200 cuBLASLt takes 0.7 of a kernel's time for products of f32. A pass
// over the result takes as long as 128 of its sums' terms save, and some
// microseconds (docs/reference/Blas.md).
static constexpr int64_t leastTerms = 256;
static constexpr double leastWork = 1 << 29;

linalg::FillOp offload::findZeros(linalg::LinalgOp product) {
  auto fill =
      product.getDpsInitOperand(0)->get().getDefiningOp<linalg::FillOp>();
  return fill && matchPattern(fill.value(), m_PosZeroFloat())
             ? fill
             : linalg::FillOp();
}

/// A product of elements for which a library is faster than a kernel.
static std::optional<Product> matchProduct(linalg::LinalgOp op) {
  std::string why;
  std::optional<Product> product =
      op.getNumDpsInits() == 1 ? Product::match(op, why) : std::nullopt;
  if (product && product->element != "f32" && product->element != "f64")
    return std::nullopt;
  return product;
}

bool offload::isApart(linalg::LinalgOp op, OffloadDevice device) {
  std::optional<Product> product =
      device == OffloadDevice::CPU ? std::nullopt : matchProduct(op);
  if (!product)
    return false;
  double work = 1, terms = 1;
  for (auto [size, kind] :
       llvm::zip(op.getStaticLoopRanges(), op.getIteratorTypesArray())) {
    if (ShapedType::isDynamic(size))
      return false;
    work *= size;
    if (kind == utils::IteratorType::reduction)
      terms *= size;
  }
  return terms >= leastTerms && work >= leastWork;
}

/// Whether the op only puts dimensions of its one operand in another order.
static bool isTransposition(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1 ||
      op.getNumReductionLoops() || !op.hasPureTensorSemantics() ||
      op->hasAttr(kTileAttrName))
    return false;
  auto yield = cast<linalg::YieldOp>(op.getBlock()->getTerminator());
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  // A body may do more than yield: assert, or store elsewhere.
  return &op.getBlock()->front() == yield &&
         yield.getOperand(0) == op.getBlock()->getArgument(0) &&
         maps[0].isPermutation() && maps[1].isIdentity();
}

void offload::absorbTranspositions(RewriterBase &rewriter,
                                   Operation *function) {
  SmallVector<linalg::GenericOp> transpositions;
  function->walk([&](linalg::GenericOp op) {
    if (isTransposition(op))
      transpositions.push_back(op);
  });
  for (linalg::GenericOp op : transpositions) {
    auto product = op.getInputs()[0].getDefiningOp<linalg::GenericOp>();
    if (!product || !product->hasOneUse() || product->hasAttr(kTileAttrName) ||
        product->getBlock() != op->getBlock())
      continue;
    std::optional<Product> matched = matchProduct(product);
    linalg::FillOp zeros = findZeros(product);
    // Element d of the result is element from(d) of the product. A library
    // writes rows or columns without gaps.
    AffineMap from = op.getIndexingMapsArray()[0];
    if (!matched || !zeros ||
        llvm::none_of(
            ArrayRef(matched->c.places).take_back(2), [&](unsigned place) {
              return from.getDimPosition(place) == from.getNumDims() - 1;
            }))
      continue;
    SmallVector<AffineMap> maps = product.getIndexingMapsArray();
    maps.back() = inversePermutation(from).compose(maps.back());
    rewriter.setInsertionPoint(op);
    auto filled =
        linalg::FillOp::create(rewriter, zeros.getLoc(), zeros.value(),
                               op.getDpsInitOperand(0)->get());
    auto made = linalg::GenericOp::create(
        rewriter, product.getLoc(), op.getResultTypes(), product.getInputs(),
        filled.getResults(), maps, product.getIteratorTypesArray());
    rewriter.cloneRegionBefore(product.getRegion(), made.getRegion(),
                               made.getRegion().end());
    rewriter.replaceOp(op, made);
    rewriter.eraseOp(product);
    if (zeros->use_empty())
      rewriter.eraseOp(zeros);
  }
}
