//===- OutputMaps.cpp - which elements a linalg op writes -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See OutputMaps.h.
//===----------------------------------------------------------------------===//

#include "OutputMaps.h"

#include "Distribute.h"
#include "Schedule.h"

#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::offload;

bool offload::dropWithoutIterations(RewriterBase &rewriter,
                                    linalg::LinalgOp op) {
  // Iterations write elements, so that there is none without elements.
  auto hasNoElements = [&](OpOperand &output) {
    return llvm::is_contained(op.getShape(&output), 0);
  };
  if (!llvm::is_contained(op.getStaticLoopRanges(), 0) &&
      llvm::none_of(op.getDpsInitsMutable(), hasNoElements))
    return false;
  SmallVector<Value> before;
  for (OpResult result : op->getResults())
    before.push_back(op.getTiedOpOperand(result)->get());
  rewriter.replaceOp(op, before);
  return true;
}

bool offload::writesWholeOutputs(linalg::LinalgOp op) {
  SmallVector<int64_t> rounds = op.getStaticLoopRanges();
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  for (OpOperand &output : op.getDpsInitsMutable()) {
    llvm::SmallBitVector seen(op.getNumLoops());
    for (auto [result, size] :
         llvm::zip_equal(op.getMatchingIndexingMap(&output).getResults(),
                         op.getShape(&output))) {
      auto dim = dyn_cast<AffineDimExpr>(result);
      // The only place of a dimension of one element, as of a sum that keeps
      // its dimension.
      if (!dim && result == 0 && size == 1)
        continue;
      if (!dim || seen.test(dim.getPosition()))
        return false;
      seen.set(dim.getPosition());
    }
    for (unsigned loop = 0; loop < op.getNumLoops(); ++loop) {
      if (seen.test(loop))
        continue;
      // Several iterations write one element, or none does where a reduction
      // has no elements.
      const bool isWritten = rounds[loop] > 0;
      if (kinds[loop] == utils::IteratorType::parallel
              ? rounds[loop] != 1
              : !isWritten && !op.payloadUsesValueFromOperand(&output))
        return false;
    }
  }
  return true;
}

/// Loops whose index follows from the place of an element that is written: a
/// result of the map takes one of them that does not follow from others yet.
static llvm::SmallBitVector findSeparated(linalg::LinalgOp op, AffineMap map) {
  SmallVector<int64_t> rounds = op.getStaticLoopRanges();
  llvm::SmallBitVector known(map.getNumDims());
  for (unsigned loop = 0; loop < map.getNumDims(); ++loop)
    if (rounds[loop] == 1)
      known.set(loop);
  for (bool changed = true; changed;) {
    changed = false;
    for (AffineExpr result : map.getResults()) {
      // Remainders and quotients are the same for several indices.
      SmallVector<int64_t> factors;
      if (failed(getFlattenedAffineExpr(result, map.getNumDims(),
                                        map.getNumSymbols(), &factors)) ||
          factors.size() != map.getNumDims() + 1)
        continue;
      std::optional<unsigned> only;
      bool isOne = true;
      for (unsigned loop = 0; loop < map.getNumDims(); ++loop)
        if (factors[loop] && !known.test(loop)) {
          isOne &= !only;
          only = loop;
        }
      if (only && isOne) {
        known.set(*only);
        changed = true;
      }
    }
  }
  return known;
}

namespace {
/// Writes the loops of one op, in front of it.
class IterationWriter {
public:
  IterationWriter(RewriterBase &b, linalg::LinalgOp op)
      : b(b), op(op), loc(op.getLoc()), indices(op.getNumLoops()) {
    zero = arith::ConstantIndexOp::create(b, loc, 0);
    one = arith::ConstantIndexOp::create(b, loc, 1);
    for (const Range &range : op.createLoopRanges(b, loc))
      sizes.push_back(getValueOrCreateConstantIndexOp(b, loc, range.size));
    chooseThreads();
  }
  void write();

private:
  /// An output as the loops see it: the memref, or the tensor that an iteration
  /// begins with, which is one element of it where threads have one each.
  struct Output {
    OpOperand *operand;
    Value now;
    /// The tensor that all threads share, and where the thread's element is.
    Value all;
    SmallVector<Value> place;

    bool isTensor() const { return all != nullptr; }
  };

  void chooseThreads();
  void takeElements(scf::ForallOp threads);
  void giveElements(scf::ForallOp threads);
  SmallVector<Value> getTensors();
  void setTensors(ValueRange values);
  void writeInOrder();
  void writeIteration();
  SmallVector<Value> getPlace(OpOperand &operand) {
    return applyMap(b, loc, op.getMatchingIndexingMap(&operand), indices);
  }
  /// Where the iteration's element is in `Output::now`.
  SmallVector<Value> getPlace(const Output &output) {
    if (!output.isTensor() || parallel.empty())
      return getPlace(*output.operand);
    return SmallVector<Value>(output.place.size(), zero);
  }
  Value load(Value from, ArrayRef<Value> place);

  RewriterBase &b;
  linalg::LinalgOp op;
  Location loc;
  SmallVector<Value> sizes, indices;
  Value zero, one;
  /// Loops whose iterations are threads, and the others, which are in order.
  SmallVector<unsigned> parallel, inOrder;
  SmallVector<Output> outputs;
};
} // namespace

/// Threads write different elements of each output. A tensor is put together of
/// the threads' elements, so that each thread has one of it.
void IterationWriter::chooseThreads() {
  const unsigned loops = op.getNumLoops();
  llvm::SmallBitVector isParallel(loops);
  SmallVector<unsigned> dims;
  op.getParallelDims(dims);
  for (unsigned loop : dims)
    isParallel.set(loop);
  for (OpOperand &output : op.getDpsInitsMutable())
    isParallel &= findSeparated(op, op.getMatchingIndexingMap(&output));
  for (OpOperand &output : op.getDpsInitsMutable())
    if (isa<TensorType>(output.get().getType()))
      for (unsigned loop = 0; loop < loops; ++loop)
        if (!isParallel.test(loop) &&
            op.getMatchingIndexingMap(&output).isFunctionOfDim(loop))
          isParallel.reset();
  for (unsigned loop = 0; loop < loops; ++loop)
    (isParallel.test(loop) ? parallel : inOrder).push_back(loop);
}

Value IterationWriter::load(Value from, ArrayRef<Value> place) {
  if (isa<TensorType>(from.getType()))
    return tensor::ExtractOp::create(b, loc, from, place);
  if (isa<MemRefType>(from.getType()))
    return memref::LoadOp::create(b, loc, from, place);
  return from;
}

void IterationWriter::takeElements(scf::ForallOp threads) {
  auto shared = threads.getRegionOutArgs().begin();
  for (OpOperand &operand : op.getDpsInitsMutable()) {
    Output &output = outputs.emplace_back(Output{&operand, operand.get()});
    if (!isa<TensorType>(operand.get().getType()))
      continue;
    output.now = output.all = *shared++;
    if (parallel.empty())
      continue;
    output.place = getPlace(operand);
    SmallVector<OpFoldResult> ones(output.place.size(), b.getIndexAttr(1));
    output.now = tensor::ExtractSliceOp::create(
        b, loc, output.all, getAsOpFoldResult(output.place), ones, ones);
  }
}

/// The tensors that come out of the threads' loop.
void IterationWriter::giveElements(scf::ForallOp threads) {
  for (const Output &output : outputs) {
    if (!output.isTensor())
      continue;
    const int64_t rank = op.getRank(output.operand);
    SmallVector<OpFoldResult> ones(rank, b.getIndexAttr(1)), lengths(ones),
        offsets = getAsOpFoldResult(output.place);
    if (parallel.empty()) {
      offsets.assign(rank, b.getIndexAttr(0));
      lengths = tensor::getMixedSizes(b, loc, output.all);
    }
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(threads.getTerminator().getBody());
    tensor::ParallelInsertSliceOp::create(b, loc, output.now, output.all,
                                          offsets, lengths, ones);
  }
}

SmallVector<Value> IterationWriter::getTensors() {
  SmallVector<Value> tensors;
  for (const Output &output : outputs)
    if (output.isTensor())
      tensors.push_back(output.now);
  return tensors;
}

void IterationWriter::setTensors(ValueRange values) {
  for (Output &output : outputs)
    if (output.isTensor()) {
      output.now = values.front();
      values = values.drop_front();
    }
}

/// The body, once.
void IterationWriter::writeIteration() {
  IRMapping map;
  for (OpOperand *input : op.getDpsInputOperands())
    if (BlockArgument argument = op.getMatchingBlockArgument(input);
        !argument.use_empty())
      map.map(argument, load(input->get(), getPlace(*input)));
  for (const Output &output : outputs)
    if (op.payloadUsesValueFromOperand(output.operand))
      map.map(op.getMatchingBlockArgument(output.operand),
              load(output.now, getPlace(output)));
  SmallVector<Value> values = cloneBody(b, op, indices, map);
  for (auto [output, value] : llvm::zip_equal(outputs, values)) {
    if (output.isTensor())
      output.now =
          tensor::InsertOp::create(b, loc, value, output.now, getPlace(output));
    else
      memref::StoreOp::create(b, loc, value, output.now, getPlace(output));
  }
}

void IterationWriter::writeInOrder() {
  SmallVector<scf::ForOp> loops;
  for (unsigned number : inOrder) {
    auto loop =
        scf::ForOp::create(b, loc, zero, sizes[number], one, getTensors());
    indices[number] = loop.getInductionVar();
    setTensors(loop.getRegionIterArgs());
    b.setInsertionPointToStart(loop.getBody());
    loops.push_back(loop);
  }
  writeIteration();
  for (scf::ForOp loop : llvm::reverse(loops)) {
    if (loop->getNumResults())
      scf::YieldOp::create(b, loc, getTensors());
    setTensors(loop.getResults());
    b.setInsertionPointAfter(loop);
  }
}

void IterationWriter::write() {
  SmallVector<Value> tensors;
  llvm::copy_if(op.getDpsInits(), std::back_inserter(tensors),
                [](Value output) { return isa<TensorType>(output.getType()); });
  SmallVector<OpFoldResult> to;
  for (unsigned loop : parallel)
    to.push_back(getAsOpFoldResult(sizes[loop]));
  if (parallel.empty())
    to.push_back(b.getIndexAttr(1));
  SmallVector<OpFoldResult> from(to.size(), b.getIndexAttr(0)),
      by(to.size(), b.getIndexAttr(1));
  auto threads = scf::ForallOp::create(
      b, loc, from, to, by, tensors,
      b.getArrayAttr(mapToBlocks(b.getContext(), to.size())));
  for (auto [loop, index] : llvm::zip(parallel, threads.getInductionVars()))
    indices[loop] = index;
  b.setInsertionPoint(threads.getTerminator());
  takeElements(threads);
  writeInOrder();
  giveElements(threads);
  b.replaceOp(op, threads.getResults());
}

void offload::makeIterationLoops(RewriterBase &rewriter, linalg::LinalgOp op) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  IterationWriter(rewriter, op).write();
}
