//===- ElementsByThreads.cpp - elements that are each by itself -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread loads several elements before it computes and stores any. One load
// after the other does not keep the memory busy, and nobody else could change
// the order: no load is moved in front of a store, nor across the branches of
// an exact square root.
//
// Threads side by side have elements side by side. Where those of an input are
// so along another loop than those of the output, a subgroup has a patch of
// both, so that few pieces of memory are read and written at a time.
//===----------------------------------------------------------------------===//

#include "BodyEffects.h"
#include "Distribute.h"
#include "Schedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

#include <vector>

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::offload;

namespace {
/// An element's number, written in digits, is the indices of its loops.
struct Digit {
  unsigned loop;
  /// How many values the digit has, and what one of it means for the index.
  Value count;
  int64_t times;
};

class ElementWriter {
public:
  ElementWriter(RewriterBase &b, linalg::LinalgOp op, Value thread,
                int64_t threads)
      : b(b), op(op), loc(op.getLoc()), thread(thread), threads(threads) {}
  void write();

private:
  /// An element that may be there or not.
  struct Element {
    SmallVector<Value> indices;
    Value isThere;
    IRMapping known;
    SmallVector<Value> before, after;
  };

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  }
  template <typename Op>
  Value fold(Value x, Value y) {
    return b.createOrFold<Op>(loc, x, y);
  }
  void chooseDigits();
  std::optional<int64_t> countOwn();
  Element find(Value number);
  SmallVector<Value> getPlace(OpOperand &operand, ArrayRef<Value> indices) {
    return applyMap(b, loc, op.getMatchingIndexingMap(&operand), indices);
  }
  void load(Element &element);
  void compute(Element &element);
  void store(Element &element);

  RewriterBase &b;
  linalg::LinalgOp op;
  Location loc;
  Value thread;
  int64_t threads;
  SmallVector<Value> sizes;
  /// Digits of an element's number, the last one first; and the loops whose
  /// index may be more than there is.
  SmallVector<Digit> digits;
  llvm::BitVector isLonger;
  /// How many numbers there are; known is what it is if it is not zero.
  Value total;
  std::optional<int64_t> knownTotal;
};
} // namespace

/// A loop's most rounds stand for their number, if that is not known: a
/// division by what is not constant takes longer than anything else here.
void ElementWriter::chooseDigits() {
  const unsigned loops = op.getNumLoops();
  isLonger.resize(loops);
  SmallVector<std::optional<int64_t>> most;
  for (unsigned loop = 0; loop < loops; ++loop)
    most.push_back(findMostRounds(op, loop));
  constexpr int64_t patchColumns = 8, patchRows = 4;
  std::optional<Crossing> crossing = findCrossing(op);
  if (crossing) {
    auto isAtLeast = [&](unsigned loop, int64_t length) {
      return most[loop] && *most[loop] >= length;
    };
    if (!isAtLeast(crossing->column, patchColumns) ||
        !isAtLeast(crossing->row, patchRows))
      crossing.reset();
  }
  auto addDigit = [&](unsigned loop, Value count, int64_t times) {
    digits.push_back({loop, count, times});
  };
  if (crossing) {
    auto addRest = [&](unsigned loop, int64_t length) {
      int64_t count = llvm::divideCeil(*most[loop], length);
      addDigit(loop, index(count), length);
      isLonger[loop] = getConstantIntValue(sizes[loop]) != count * length;
    };
    addDigit(crossing->column, index(patchColumns), 1);
    addDigit(crossing->row, index(patchRows), 1);
    addRest(crossing->row, patchRows);
    addRest(crossing->column, patchColumns);
  }
  unsigned outermost = 0;
  while (outermost + 1 < loops && getConstantIntValue(sizes[outermost]) == 1)
    ++outermost;
  for (unsigned loop = loops; loop-- > outermost;) {
    if (crossing && (loop == crossing->column || loop == crossing->row))
      continue;
    bool isBounded = most[loop] && loop != outermost &&
                     getConstantIntValue(sizes[loop]) != *most[loop];
    addDigit(loop, isBounded ? index(*most[loop]) : sizes[loop], 1);
    isLonger[loop] = isBounded;
  }
  total = index(1);
  for (const Digit &digit : digits)
    total = fold<arith::MulIOp>(total, digit.count);
  knownTotal = getConstantIntValue(total);
  // Nothing, where a loop has no round.
  for (unsigned loop : isLonger.set_bits()) {
    Value isEmpty = b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::eq,
                                                  sizes[loop], index(0));
    total = b.createOrFold<arith::SelectOp>(loc, isEmpty, index(0), total);
  }
}

/// The most elements that a thread has.
std::optional<int64_t> ElementWriter::countOwn() {
  int64_t count = 1;
  for (const Digit &digit : digits) {
    std::optional<int64_t> rounds = getConstantIntValue(digit.count);
    if (!rounds)
      rounds = findMostRounds(op, digit.loop);
    if (!rounds || llvm::MulOverflow(count, *rounds, count))
      return std::nullopt;
  }
  return llvm::divideCeil(count, threads);
}

ElementWriter::Element ElementWriter::find(Value number) {
  Element element;
  element.indices.assign(op.getNumLoops(), index(0));
  for (const auto &[place, digit] : llvm::enumerate(digits)) {
    Value value = number;
    if (place + 1 < digits.size()) {
      value = fold<arith::RemUIOp>(number, digit.count);
      number = fold<arith::DivUIOp>(number, digit.count);
    }
    Value &sum = element.indices[digit.loop];
    sum = fold<arith::AddIOp>(sum,
                              fold<arith::MulIOp>(value, index(digit.times)));
  }
  element.isThere = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
  for (unsigned loop : isLonger.set_bits())
    element.isThere = fold<arith::AndIOp>(
        element.isThere,
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                              element.indices[loop], sizes[loop]));
  return element;
}

void ElementWriter::load(Element &element) {
  for (OpOperand *input : op.getDpsInputOperands())
    if (BlockArgument argument = op.getMatchingBlockArgument(input);
        !argument.use_empty())
      element.known.map(argument, loadInput(b, op, input, element.indices));
  for (OpOperand &output : op.getDpsInitsMutable())
    if (op.payloadUsesValueFromOperand(&output))
      element.known.map(
          op.getMatchingBlockArgument(&output),
          memref::LoadOp::create(b, loc, output.get(),
                                 getPlace(output, element.indices)));
}

void ElementWriter::compute(Element &element) {
  element.after = cloneBody(b, op, element.indices, element.known);
}

void ElementWriter::store(Element &element) {
  OpBuilder::InsertionGuard guard(b);
  if (getConstantIntValue(element.isThere) != 1) {
    auto branch = scf::IfOp::create(b, loc, element.isThere);
    b.setInsertionPointToStart(branch.thenBlock());
  }
  for (auto [output, value] : llvm::zip(op.getDpsInitsMutable(), element.after))
    memref::StoreOp::create(b, loc, value, output.get(),
                            getPlace(output, element.indices));
}

void ElementWriter::write() {
  OpBuilder::InsertionGuard guard(b);
  for (const Range &range : op.createLoopRanges(b, loc))
    sizes.push_back(getValueOrCreateConstantIndexOp(b, loc, range.size));
  chooseDigits();
  const int64_t together =
      countTogether(op, countOwn(), hasSmallElements(op) ? 16 : 8);
  const bool isWhole = knownTotal && *knownTotal % (threads * together) == 0;
  auto turns =
      scf::ForOp::create(b, loc, thread, total, index(threads * together));
  b.setInsertionPointToStart(turns.getBody());
  std::vector<Element> elements;
  for (int64_t i = 0; i < together; ++i) {
    Value number =
        fold<arith::AddIOp>(turns.getInductionVar(), index(i * threads));
    elements.push_back(find(number));
    if (i && !isWhole)
      elements.back().isThere = fold<arith::AndIOp>(
          elements.back().isThere,
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, number,
                                total));
  }
  // Instead of an element that is not there the thread loads another one of its
  // own, which nobody else may be writing.
  SmallVector<Value> instead = elements.back().indices;
  Value isAny = elements.back().isThere;
  for (Element &element : llvm::reverse(elements)) {
    for (auto [index, other] : llvm::zip(element.indices, instead))
      other =
          b.createOrFold<arith::SelectOp>(loc, element.isThere, index, other);
    isAny = fold<arith::OrIOp>(element.isThere, isAny);
  }
  if (getConstantIntValue(isAny) != 1) {
    auto branch = scf::IfOp::create(b, loc, isAny);
    b.setInsertionPointToStart(branch.thenBlock());
  }
  for (Element &element : elements) {
    for (auto [index, other] : llvm::zip(element.indices, instead))
      index =
          b.createOrFold<arith::SelectOp>(loc, element.isThere, index, other);
    load(element);
  }
  for (Element &element : elements)
    compute(element);
  for (Element &element : elements)
    store(element);
}

bool offload::elementsByThreads(RewriterBase &rewriter, linalg::LinalgOp op,
                                Value thread, int64_t threads) {
  auto isFar = [&](OpOperand &operand) {
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    return type && op.payloadUsesValueFromOperand(&operand) &&
           !gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(type);
  };
  if (op.getNumReductionLoops() || !mayRepeat(op) ||
      llvm::none_of(op->getOpOperands(), isFar))
    return false;
  rewriter.setInsertionPoint(op);
  ElementWriter(rewriter, op, thread, threads).write();
  rewriter.eraseOp(op);
  return true;
}
