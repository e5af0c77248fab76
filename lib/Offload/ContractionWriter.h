//===- ContractionWriter.h - What the writers of products share -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic on indices, and loops, at the builder's place.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_OFFLOAD_CONTRACTIONWRITER_H
#define GPUASYNC_LIB_OFFLOAD_CONTRACTIONWRITER_H

#include "Contraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::gpuasync::offload {

class ContractionWriter {
protected:
  ContractionWriter(RewriterBase &b, Contraction &product)
      : b(b), product(product), op(product.op), loc(op.getLoc()),
        indices(op.getNumLoops()) {}

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubIOp::create(b, loc, x, y); }
  Value min(Value x, Value y) { return arith::MinSIOp::create(b, loc, x, y); }
  Value less(Value x, Value y) {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, x, y);
  }
  /// Opens a loop from 0 to `to` and returns its counter.
  Value open(Value to, int64_t step) {
    auto loop = scf::ForOp::create(b, loc, index(0), to, index(step));
    b.setInsertionPointToStart(loop.getBody());
    return loop.getInductionVar();
  }

  RewriterBase &b;
  Contraction &product;
  linalg::LinalgOp op;
  Location loc;
  /// Of the op's loops, at the element that is written.
  SmallVector<Value> indices;
};

} // namespace mlir::gpuasync::offload

#endif // GPUASYNC_LIB_OFFLOAD_CONTRACTIONWRITER_H
