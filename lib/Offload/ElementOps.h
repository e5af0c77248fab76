//===- ElementOps.h - a block's product and what goes with it ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which blocks compute a product and, element by element of its result, more:
// each of these ops needs of what others write the same element only.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_OFFLOAD_ELEMENTOPS_H
#define GPUASYNC_LIB_OFFLOAD_ELEMENTOPS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::gpuasync::offload {

/// A product and ops that go through the same elements as its result.
class ElementOps {
public:
  ElementOps(gpu::LaunchOp launch, ArrayRef<linalg::LinalgOp> ops)
      : launch(launch), ops(ops) {}

  /// False if there is no such product, or an op needs another element of what
  /// an op has written.
  bool match();

  gpu::LaunchOp launch;
  ArrayRef<linalg::LinalgOp> ops;
  linalg::LinalgOp product;
  /// Of each op, which of the product's loops its loops are.
  llvm::DenseMap<Operation *, SmallVector<unsigned>> loopsOf;

  /// Whether nothing but these ops uses it.
  bool isOwn(Value memory) {
    return memory.getDefiningOp<memref::AllocOp>() &&
           llvm::all_of(memory.getUsers(), [&](Operation *user) {
             return isa<memref::DeallocOp>(user) ||
                    llvm::is_contained(ops, dyn_cast<linalg::LinalgOp>(user));
           });
  }
  void erase(RewriterBase &rewriter);

private:
  bool setPlaces(linalg::LinalgOp op);
  bool setLoops(linalg::LinalgOp op);
  bool isWrittenOnlyByName();

  llvm::SmallSetVector<Value, 4> written;
  /// Of what is written, the product's loop of each dimension.
  llvm::DenseMap<Value, SmallVector<unsigned>> places;
};

} // namespace mlir::gpuasync::offload

#endif // GPUASYNC_LIB_OFFLOAD_ELEMENTOPS_H
