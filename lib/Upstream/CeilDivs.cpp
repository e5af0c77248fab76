//===- CeilDivs.cpp - ceildiv of affine expressions -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See CeilDivs.h. What stands in the place of a ceildiv is no operand that the
// affine dialect allows, so that the ops are lowered at once.
//===----------------------------------------------------------------------===//

#include "CeilDivs.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/AffineExprVisitor.h"
#include "mlir/IR/IntegerSet.h"
#include "mlir/Transforms/DialectConversion.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::gpuasync;

static bool hasCeilDiv(AffineExpr expr) {
  return expr
      .walk([](AffineExpr part) {
        return part.getKind() == AffineExprKind::CeilDiv
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

namespace {
/// Computes an expression, with divisions that do not overflow where the
/// result does not.
class Computation : public AffineExprVisitor<Computation, Value> {
public:
  Computation(OpBuilder &builder, Location loc, ValueRange dims,
              ValueRange symbols)
      : builder(builder), loc(loc), dims(dims), symbols(symbols) {}

  Value visitConstantExpr(AffineConstantExpr expr) {
    return arith::ConstantIndexOp::create(builder, loc, expr.getValue());
  }
  Value visitDimExpr(AffineDimExpr expr) { return dims[expr.getPosition()]; }
  Value visitSymbolExpr(AffineSymbolExpr expr) {
    return symbols[expr.getPosition()];
  }
  Value visitAddExpr(AffineBinaryOpExpr expr) {
    return make<arith::AddIOp>(expr);
  }
  Value visitMulExpr(AffineBinaryOpExpr expr) {
    return make<arith::MulIOp>(expr);
  }
  Value visitFloorDivExpr(AffineBinaryOpExpr expr) {
    return make<arith::FloorDivSIOp>(expr);
  }
  Value visitCeilDivExpr(AffineBinaryOpExpr expr) {
    return make<arith::CeilDivSIOp>(expr);
  }
  Value visitModExpr(AffineBinaryOpExpr expr) {
    Value divisor = visit(expr.getRHS());
    Value rest =
        arith::RemSIOp::create(builder, loc, visit(expr.getLHS()), divisor);
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    Value negative = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::slt, rest, zero);
    Value sum = arith::AddIOp::create(builder, loc, rest, divisor);
    return arith::SelectOp::create(builder, loc, negative, sum, rest);
  }

private:
  template <typename Op>
  Value make(AffineBinaryOpExpr expr) {
    Value left = visit(expr.getLHS());
    return Op::create(builder, loc, left, visit(expr.getRHS()));
  }

  OpBuilder &builder;
  Location loc;
  ValueRange dims, symbols;
};

/// Expressions with their operands: dimensions, then symbols.
struct Expressions {
  unsigned dims, symbols;
  SmallVector<AffineExpr> exprs;
  SmallVector<Value> operands;
};
} // namespace

/// Computes those with a ceildiv in front of `op`: they become dimensions.
static bool compute(Operation *op, Expressions &all) {
  OpBuilder builder(op);
  SmallVector<Value> computed;
  ValueRange dims = ValueRange(all.operands).take_front(all.dims);
  ValueRange symbols = ValueRange(all.operands).drop_front(all.dims);
  Computation computation(builder, op->getLoc(), dims, symbols);
  for (AffineExpr &expr : all.exprs)
    if (hasCeilDiv(expr)) {
      Value value = computation.visit(expr);
      expr = builder.getAffineDimExpr(all.dims + computed.size());
      computed.push_back(value);
    }
  all.operands.insert(all.operands.begin() + all.dims, computed.begin(),
                      computed.end());
  all.dims += computed.size();
  return !computed.empty();
}

/// The same of a map; null if it has no ceildiv.
static AffineMap compute(Operation *op, AffineMap map,
                         SmallVector<Value> &operands) {
  Expressions all{map.getNumDims(), map.getNumSymbols(),
                  llvm::to_vector(map.getResults()), operands};
  if (!compute(op, all))
    return AffineMap();
  operands = all.operands;
  return AffineMap::get(all.dims, all.symbols, all.exprs, op->getContext());
}

/// Returns whether `op` had a ceildiv.
static bool computeCeilDivs(Operation *op) {
  using namespace affine;
  bool found = false;
  auto computeMap = [&](AffineMap map, ValueRange operands, auto set) {
    SmallVector<Value> values(operands);
    if (AffineMap computed = compute(op, map, values)) {
      set(values, computed);
      found = true;
    }
  };
  // The map is the attribute `map`, its operands are the op's last ones.
  auto computeLast = [&](auto op) {
    computeMap(op.getAffineMap(), op.getMapOperands(),
               [&](ValueRange values, AffineMap map) {
                 unsigned first =
                     op->getNumOperands() - op.getMapOperands().size();
                 op->setOperands(first, op->getNumOperands() - first, values);
                 op->setAttr("map", AffineMapAttr::get(map));
               });
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case<AffineApplyOp, AffineMinOp, AffineMaxOp>([&](auto op) {
        computeMap(op.getAffineMap(), op.getOperands(),
                   [&](ValueRange values, AffineMap map) {
                     op->setOperands(values);
                     op->setAttr("map", AffineMapAttr::get(map));
                   });
      })
      .Case<AffineLoadOp, AffineStoreOp, AffineVectorLoadOp,
            AffineVectorStoreOp, AffinePrefetchOp>(computeLast)
      .Case([&](AffineForOp loop) {
        computeMap(loop.getLowerBoundMap(), loop.getLowerBoundOperands(),
                   [&](ValueRange values, AffineMap map) {
                     loop.setLowerBound(values, map);
                   });
        computeMap(loop.getUpperBoundMap(), loop.getUpperBoundOperands(),
                   [&](ValueRange values, AffineMap map) {
                     loop.setUpperBound(values, map);
                   });
      })
      .Case([&](AffineParallelOp loop) {
        computeMap(loop.getLowerBoundsMap(), loop.getLowerBoundsOperands(),
                   [&](ValueRange values, AffineMap map) {
                     loop.setLowerBounds(values, map);
                   });
        computeMap(loop.getUpperBoundsMap(), loop.getUpperBoundsOperands(),
                   [&](ValueRange values, AffineMap map) {
                     loop.setUpperBounds(values, map);
                   });
      })
      .Case([&](AffineIfOp branch) {
        IntegerSet set = branch.getIntegerSet();
        Expressions all{set.getNumDims(), set.getNumSymbols(),
                        llvm::to_vector(set.getConstraints()),
                        llvm::to_vector(branch.getOperands())};
        if (!compute(branch, all))
          return;
        branch.setConditional(
            IntegerSet::get(all.dims, all.symbols, all.exprs, set.getEqFlags()),
            all.operands);
        found = true;
      });
  return found;
}

LogicalResult gpuasync::lowerCeilDivs(Operation *root) {
  bool found = false;
  root->walk([&](Operation *op) {
    if (isa_and_nonnull<affine::AffineDialect>(op->getDialect()))
      found |= computeCeilDivs(op);
  });
  if (!found)
    return success();
  MLIRContext *context = root->getContext();
  RewritePatternSet patterns(context);
  populateAffineToStdConversionPatterns(patterns);
  populateAffineToVectorConversionPatterns(patterns);
  affine::populateAffineExpandIndexOpsPatterns(patterns);
  ConversionTarget target(*context);
  target.addLegalDialect<arith::ArithDialect, memref::MemRefDialect,
                         scf::SCFDialect, vector::VectorDialect>();
  return applyPartialConversion(root, target, std::move(patterns));
}
