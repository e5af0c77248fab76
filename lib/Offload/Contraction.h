//===- Contraction.h - products of a block's tiles --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A linalg op that multiplies and adds up, taken as rows times columns: sums
// stay in registers while the reduction goes on. A convolution is one, too.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_OFFLOAD_CONTRACTION_H
#define GPUASYNC_LIB_OFFLOAD_CONTRACTION_H

#include "GPUAsync/VectorRegisters.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <optional>

namespace mlir::gpuasync::offload {

/// Which operands and loops are the rows and the columns. The result has the
/// columns' loop as its last dimension.
class Contraction {
public:
  /// None if the op, on tensors or memrefs, has no such form: a vector's
  /// product is none here, and neither is one whose operand has rows and
  /// columns.
  static std::optional<Contraction> match(linalg::LinalgOp op);

  linalg::LinalgOp op;
  OpOperand *rows, *columns; ///< the inputs
  unsigned rowLoop, columnLoop;
  SmallVector<unsigned> reductionLoops, otherLoops;

  /// The other loops: first those by which the columns differ, or none of the
  /// operands does; then those of which each round has the same columns.
  std::pair<SmallVector<unsigned>, SmallVector<unsigned>> splitOtherLoops();
  Type getElementType(OpOperand *operand);
  /// Where the element of an operand is.
  SmallVector<Value> getPlace(OpBuilder &builder, OpOperand *operand,
                              ArrayRef<Value> indices);
  /// The op's body of one element of each input and of the sum, or of vectors
  /// of them, which may be contracted to fused operations.
  Value compute(OpBuilder &builder, Value row, Value column, Value sum);

private:
  explicit Contraction(linalg::LinalgOp op) : op(op) {}
};

/// Replaces the op by loops of one thread, whose sums are vectors. False, with
/// nothing done, if its elements are of types that vectors have no fast code
/// for.
bool contractByVectors(RewriterBase &rewriter, linalg::LinalgOp op,
                       VectorRegisters registers);

/// Replaces the op by loops of the block's threads: each has the sums of a
/// tile, and pieces of the operands go through workgroup memory; with
/// `hasAsyncCopies` by cp.async of NVIDIA's devices from sm_80 on. The sums
/// begin with the number `begin`, or with what the output holds. False, with
/// nothing done, if the tile's size has no bound that is known.
bool contractByThreads(RewriterBase &rewriter, linalg::LinalgOp op,
                       Value thread, int64_t threads, bool hasAsyncCopies,
                       Value begin = {});

/// Whether tensor cores compute the op: a product of f16 or bf16 elements,
/// which is added up in f32, and rounded once where it is of fewer digits.
bool isForTensorCores(linalg::LinalgOp op);

/// The one reduction loop of an op on tensors that adds up products of floats,
/// a vector's or a matrix', if its loops are dimensions of its operands.
std::optional<unsigned> findSteps(linalg::LinalgOp op);

/// Replaces such a product by one of so many parts of its steps, in f32 if it
/// has fewer digits, and an op that adds these up. The steps are a multiple of
/// `parts`.
void splitProduct(RewriterBase &rewriter, linalg::LinalgOp op, int64_t parts);

/// Whether the op's body adds a product of the inputs to the output, whatever
/// types they are cast to.
bool addsProducts(linalg::LinalgOp op);

/// Replaces all of a block's ops by what its subgroups do with the tensor cores
/// of NVIDIA's devices, from sm_80 on, or with `hasWarpgroups` of sm_90 alone.
/// False, with nothing done, if they are not one such product and ops that go
/// through its result's elements.
bool contractByTensorCores(RewriterBase &rewriter, gpu::LaunchOp launch,
                           ArrayRef<linalg::LinalgOp> ops, Value thread,
                           int64_t threads, bool hasWarpgroups);

} // namespace mlir::gpuasync::offload

#endif // GPUASYNC_LIB_OFFLOAD_CONTRACTION_H
