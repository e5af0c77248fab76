//===- Schedule.h - how work is cut into blocks -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place where sizes of tiles are chosen.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_OFFLOAD_SCHEDULE_H
#define GPUASYNC_LIB_OFFLOAD_SCHEDULE_H

#include "GPUAsync/KernelMemory.h"
#include "GPUAsync/Options.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::gpuasync::offload {

class Contraction;

/// What a kind of device is given.
struct Schedule {
  /// Threads of a block. One: a block is a nest of loops.
  int64_t threads;
  /// Elements that a block computes where each is by itself, and those of rows.
  int64_t elements, rowElements;
  /// Most iterations of an op that one block does as fast as several, but for
  /// less than a launch takes.
  int64_t oneBlock;
  /// Most columns of a contraction's tile, and rows.
  int64_t contraction;
  /// Memory that a kernel may have.
  KernelMemory memory;
  /// Bytes that a block may keep to itself of its tile, and for each result of
  /// it, beside what contractions and reductions need. For each result it keeps
  /// less, so that a tile may have several.
  int64_t kept, scratch;
  /// Blocks that it takes to have the device busy, and those of a product.
  int64_t blocks, productBlocks;
  /// Elements that are worth a block of their own where a reduction is split,
  /// and its most results and parts.
  int64_t partElements, partResults, parts;
  /// Whether products of f16 and bf16 are for tensor cores, and whether these
  /// have wgmma.
  bool hasTensorCores = false, hasWarpgroups = false;

  static Schedule get(OffloadDevice device);

  /// The tile of each of the op's loops, 0 for those that are not cut: only
  /// those of `tileable` are. `isRow`: for each tile the block needs all of the
  /// loops that are not. For each result the block keeps `rowBytes`, and for a
  /// tile at most `kept`. `contraction`: of the group, null if it has none; its
  /// rows and columns, or the results of a vector's product, are the loops
  /// `cut`; in each round of `moreRows`, the nearest first, are rows of the
  /// same columns. Tensor cores, which keep nothing, compute it or threads.
  SmallVector<int64_t>
  chooseTile(linalg::LinalgOp op, const llvm::BitVector &tileable, bool isRow,
             int64_t rowBytes, linalg::LinalgOp contraction,
             ArrayRef<unsigned> cut, ArrayRef<unsigned> moreRows,
             bool isForTensorCores) const;

  /// The same of a reduction that is to be taken in parts, whose reduction
  /// loops alone are cut. Empty: its results are enough for the device, or too
  /// little goes into them. `isInOrder`: a thread's elements follow each other.
  SmallVector<int64_t> chooseParts(linalg::LinalgOp op,
                                   bool isInOrder = false) const;

  /// Into how many parts the steps of a product, its loop `steps`, are cut.
  /// One: its tiles are enough for the device, or too few steps are in a part,
  /// or the sizes are not known.
  int64_t chooseProductParts(linalg::LinalgOp product, unsigned steps) const;

private:
  /// Makes a tile smaller until the block keeps `kept` bytes of it at most.
  void fit(const llvm::BitVector &tileable, int64_t bytes,
           MutableArrayRef<int64_t> tile) const;
  void chooseContraction(ArrayRef<int64_t> sizes,
                         const llvm::BitVector &tileable,
                         ArrayRef<unsigned> cut, ArrayRef<unsigned> moreRows,
                         double steps, int64_t bytes, bool isWord,
                         MutableArrayRef<int64_t> tile) const;
  int64_t chooseWordParts(const Contraction &matrix, ArrayRef<int64_t> sizes,
                          unsigned steps, double kernel, double part) const;
  double estimateProduct(double rows, double columns, double count,
                         double steps) const;
  std::pair<int64_t, int64_t> chooseForThreads(int64_t rows, int64_t columns,
                                               double others, double steps,
                                               int64_t most,
                                               double *time = nullptr) const;
  void chooseVector(ArrayRef<int64_t> sizes, const llvm::BitVector &tileable,
                    ArrayRef<unsigned> cut, linalg::LinalgOp product,
                    MutableArrayRef<int64_t> tile) const;
  void chooseOneThreads(ArrayRef<int64_t> sizes, ArrayRef<unsigned> cut,
                        ArrayRef<unsigned> moreRows, double others,
                        double steps, MutableArrayRef<int64_t> tile) const;
  std::pair<int64_t, int64_t>
  chooseForTensorCores(int64_t rows, int64_t columns, double others) const;
};

/// Says that the iterations of an scf.forall are blocks: those of a single one
/// stay, too.
SmallVector<Attribute> mapToBlocks(MLIRContext *context, size_t loops);

/// The product of the sizes; nothing if one is not known, or 64 bits do not
/// hold it.
std::optional<int64_t> countElements(ArrayRef<int64_t> sizes);

/// Bytes of an element in memory; nothing if they are not known.
std::optional<int64_t> getElementBytes(Type type);
/// Those of all elements, one after the other.
std::optional<int64_t> getBytes(ShapedType type);

/// Whether the elements of all operands have two bytes at most.
bool hasSmallElements(linalg::LinalgOp op);

/// Elements side by side in memory: an output's along the loop `column`, an
/// input's along `row`.
struct Crossing {
  unsigned row, column;
};
std::optional<Crossing> findCrossing(linalg::LinalgOp op);

/// Whether the op, of any name, multiplies and adds up.
bool isContraction(linalg::LinalgOp op);

/// Whether no element of a contraction's inputs is used for several results,
/// but those of one input: a vector by a matrix, a scalar product, or many of
/// them.
bool isVectorProduct(linalg::LinalgOp contraction);

/// The loops that one input of a contraction has and the other one has not.
SmallVector<unsigned> findResultLoops(linalg::LinalgOp contraction);

} // namespace mlir::gpuasync::offload

#endif // GPUASYNC_LIB_OFFLOAD_SCHEDULE_H
