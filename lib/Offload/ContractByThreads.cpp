//===- ContractByThreads.cpp - products of a block's threads --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each thread of a block has the sums of some rows and columns in registers. A
// piece of both operands goes through workgroup memory at a time, and the next
// one is loaded while the threads compute with it: into registers, or, where
// the device copies to workgroup memory by itself, into further stages of it.
// Several threads share the steps of a small tile's reduction: with more sums
// each has less to load for one.
//===----------------------------------------------------------------------===//

#include "ContractionWriter.h"
#include "Distribute.h"
#include "OwnMemory.h"
#include "SameMemory.h"
#include "Schedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::offload;

namespace {
/// Rows or columns of a block's tile.
struct Side {
  OpOperand *operand;
  unsigned loop;
  /// Of the tile, of a thread, and threads along it.
  int64_t size, own, threads;
  /// Whether steps of the reduction are side by side in memory.
  bool isAlongReduction;
  Value thread, memory;
  /// Where the tile begins, and the most that an index may be.
  Value from, last;
  /// All tiles are whole.
  bool isWhole;

  /// Of the thread's element `i`, its place in the tile. Fours are together, so
  /// that they are one access, and threads' fours are side by side.
  Value getPlace(OpBuilder &b, Location loc, int64_t i) const {
    auto constant = [&](int64_t value) {
      return arith::ConstantIndexOp::create(b, loc, value);
    };
    int64_t together = own % 4 == 0 ? 4 : own;
    return arith::AddIOp::create(
        b, loc, arith::MulIOp::create(b, loc, thread, constant(together)),
        constant(i / together * together * threads + i % together));
  }
};

/// Writes the loops, at the builder's place.
class ThreadWriter : ContractionWriter {
public:
  ThreadWriter(RewriterBase &b, Contraction &product, Value thread,
               int64_t threads, bool hasAsyncCopies, Value begin)
      : ContractionWriter(b, product), output(op.getDpsInitOperand(0)),
        begin(begin), thread(thread), threads(threads),
        isAsync(hasAsyncCopies && canCopyAsync(product.rows) &&
                canCopyAsync(product.columns)),
        wantedSums(isAsync ? 32 : 64) {}

  /// False if the op's sizes have no bounds, or the block has no workgroup
  /// memory for the least pieces of the operands.
  bool chooseSizes();
  void write();

private:
  /// The thread's elements of rows and columns.
  using Elements = std::pair<SmallVector<Value>, SmallVector<Value>>;

  void setSide(Side &side, OpOperand *operand, unsigned loop, int64_t size,
               int64_t along);
  bool canCopyAsync(OpOperand *operand);
  bool chooseStages();
  bool hasMemory(int64_t bytes) {
    return hasWorkgroupMemory(op->getParentOfType<gpu::LaunchOp>(), bytes);
  }
  MemRefType getPieceType(const Side &side);
  int64_t countPieceBytes();
  Value clampTo(const Side &side, Value place);
  /// How many elements of a piece a thread moves, and where the `i`-th is.
  int64_t countMoved(const Side &side) {
    return llvm::divideCeil(side.size * steps, threads);
  }
  std::pair<Value, Value> getMoved(const Side &side, int64_t i);
  void chooseSharers(int64_t tile);
  void placeThread();
  /// What leaves a sum as it is: -0 or 0.
  Value makeNeutral(Type type) {
    auto format = dyn_cast<FloatType>(type);
    TypedAttr zero =
        format ? TypedAttr(b.getFloatAttr(format, -0.0)) : b.getZeroAttr(type);
    return arith::ConstantOp::create(b, loc, zero);
  }
  SmallVector<Value> loadPieces(Value from);
  void storePieces(ValueRange pieces);
  Value viewFrom(const Side &side, Value from);
  void copyPieces(Value stage, Value from);
  void writeTile();
  void writeTileByStages();
  SmallVector<Value> loadOwn(const Side &side, Value stage, Value step);
  void multiplyStep(const Elements &elements, MutableArrayRef<Value> sums);
  SmallVector<Value> multiply(ValueRange sums, Value stage = {});
  SmallVector<Value> loadSums();
  SmallVector<Value> addUp(ValueRange sums);
  void storeSums(ValueRange sums);

  OpOperand *output;
  /// The number that the sums begin with; null: what the output holds.
  Value begin;
  Value thread;
  int64_t threads;
  SmallVector<Value> sizes;
  Side rows, columns;
  Value depth;
  int64_t knownDepth;
  /// Of the reduction, that go through workgroup memory at a time: more of
  /// smaller tiles.
  int64_t steps = 16;
  /// Whether pieces are copied to workgroup memory behind the threads' back,
  /// and how many of them are there at a time.
  const bool isAsync;
  int64_t stages = 1;
  /// Threads of a subgroup, at least.
  static constexpr int64_t subgroup = 32;
  /// Of a thread, 8 x 8: it loads 16 elements for the 64 products of a step.
  /// With copies behind the threads' back 4 x 8: more threads have room.
  const int64_t wantedSums;
  /// Steps whose elements are loaded together. Without pieces in registers the
  /// sums are to leave room for a second block.
  const int64_t unrolled = isAsync ? 2 : 4;
  /// Threads that share the steps of the same sums, and which of them it is.
  int64_t sharers = 1;
  Value sharer;
};
} // namespace

void ThreadWriter::setSide(Side &side, OpOperand *operand, unsigned loop,
                           int64_t size, int64_t along) {
  side.operand = operand;
  side.loop = loop;
  side.size = size;
  side.threads = along;
  side.own = size / along;
  AffineMap map = op.getMatchingIndexingMap(operand);
  side.isAlongReduction =
      !map.getResult(map.getNumResults() - 1).isFunctionOfDim(loop);
  int64_t length = op.getStaticLoopRanges()[loop];
  side.isWhole = !ShapedType::isDynamic(length) && length % size == 0;
}

/// As many as give each thread the sums that keep it from waiting for workgroup
/// memory, if their type can be passed on by lanes.
void ThreadWriter::chooseSharers(int64_t tile) {
  Type type = product.getElementType(output);
  sharers = 1;
  if ((!type.isF32() && !type.isInteger(32)) || threads < subgroup)
    return;
  while (tile * sharers < wantedSums * threads &&
         2 * sharers * unrolled <= steps && sharers < 16)
    sharers *= 2;
}

bool ThreadWriter::chooseSizes() {
  auto bound = [&](unsigned loop) -> std::optional<int64_t> {
    std::optional<int64_t> most = findMostRounds(op, loop);
    if (!most)
      return std::nullopt;
    return std::min<int64_t>(llvm::PowerOf2Ceil(std::max<int64_t>(*most, 1)),
                             128);
  };
  std::optional<int64_t> most = bound(product.rowLoop),
                         wide = bound(product.columnLoop);
  if (!most || !wide || !llvm::isPowerOf2_64(threads))
    return false;
  SmallVector<int64_t> lengths;
  for (unsigned each : product.reductionLoops)
    lengths.push_back(op.getStaticLoopRanges()[each]);
  knownDepth = countElements(lengths).value_or(ShapedType::kDynamic);
  int64_t bytes =
      *most * *getElementBytes(product.getElementType(product.rows)) +
      *wide * *getElementBytes(product.getElementType(product.columns));
  auto isDeep = [&] {
    return ShapedType::isDynamic(knownDepth) || knownDepth > steps;
  };
  while (steps < 128 && isDeep() && 2 * steps * bytes <= 16 << 10)
    steps *= 2;
  for (; steps >= unrolled; steps /= 2) {
    chooseSharers(*most * *wide);
    // As square as can be.
    int64_t along = 1;
    while (along * along * 4 <= threads / sharers)
      along *= 2;
    int64_t down = std::min(along, *most);
    int64_t across = threads / sharers / down;
    setSide(rows, product.rows, product.rowLoop, std::max(*most, down), down);
    setSide(columns, product.columns, product.columnLoop,
            std::max(*wide, across), across);
    if (isAsync ? chooseStages() : hasMemory(countPieceBytes()))
      return true;
  }
  return false;
}

/// Elements that global memory has at addresses that are known one by one.
bool ThreadWriter::canCopyAsync(OpOperand *operand) {
  Type type = product.getElementType(operand);
  Value memory = getViewed(operand->get());
  auto launch = op->getParentOfType<gpu::LaunchOp>();
  return type.isIntOrFloat() && type.getIntOrFloatBitWidth() == 32 &&
         !launch.getBody().isAncestor(memory.getParentRegion()) &&
         !cast<MemRefType>(operand->get().getType()).getMemorySpace();
}

/// Stages of less steps if more of them fit then. False: there is no memory for
/// two.
bool ThreadWriter::chooseStages() {
  constexpr int64_t most = 4, leastSteps = 16;
  const int64_t least = std::max(leastSteps, unrolled * sharers);
  while (steps > least && !hasMemory(most * countPieceBytes()))
    steps /= 2;
  for (stages = most; stages > 1; --stages)
    if (hasMemory(stages * countPieceBytes()))
      return true;
  return false;
}

int64_t ThreadWriter::countPieceBytes() {
  int64_t bytes = 0;
  for (const Side &side : {rows, columns})
    bytes += steps * (side.size + 4) *
             *getElementBytes(product.getElementType(side.operand));
  return bytes;
}

/// Somewhat longer rows: steps side by side are in banks of their own.
MemRefType ThreadWriter::getPieceType(const Side &side) {
  auto space =
      gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup);
  SmallVector<int64_t> shape{steps, side.size + 4};
  if (isAsync)
    shape.insert(shape.begin(), stages);
  return MemRefType::get(shape, product.getElementType(side.operand),
                         MemRefLayoutAttrInterface(), space);
}

/// The index of a place of the tile; behind the last one the last one.
Value ThreadWriter::clampTo(const Side &side, Value place) {
  Value wanted = add(side.from, place);
  return side.isWhole ? wanted : min(wanted, side.last);
}

/// The place in the tile and the step of an element that the thread moves.
/// Threads side by side read elements that are side by side.
std::pair<Value, Value> ThreadWriter::getMoved(const Side &side, int64_t i) {
  const int64_t width = side.isAlongReduction ? steps : side.size;
  // Differences of places that are constant stay so in addresses.
  const bool isSame = threads % width == 0;
  Value number = isSame ? thread : add(thread, index(i * threads));
  Value inner = arith::RemUIOp::create(b, loc, number, index(width));
  Value outer = arith::DivUIOp::create(b, loc, number, index(width));
  if (isSame)
    outer = add(outer, index(i * (threads / width)));
  if (side.isAlongReduction)
    return {outer, inner};
  return {inner, outer};
}

/// The thread's elements of the steps from `from` on. Behind the last step are
/// zeros, whose product is -0 if the elements are floats: it leaves all sums as
/// they are.
SmallVector<Value> ThreadWriter::loadPieces(Value from) {
  SmallVector<Value> pieces;
  Value last = sub(depth, index(1));
  for (Side *side : {&rows, &columns}) {
    Type type = product.getElementType(side->operand);
    Value zero = side == &rows
                     ? makeNeutral(type)
                     : arith::ConstantOp::create(b, loc, b.getZeroAttr(type))
                           .getResult();
    for (int64_t i = 0; i < countMoved(*side); ++i) {
      auto [place, step] = getMoved(*side, i);
      if (side->size * steps % threads)
        place = min(place, index(side->size - 1));
      indices[side->loop] = clampTo(*side, place);
      Value number = add(from, step);
      setIndices(b, loc, min(number, last), product.reductionLoops, sizes,
                 indices);
      Value value =
          memref::LoadOp::create(b, loc, side->operand->get(),
                                 product.getPlace(b, side->operand, indices));
      if (ShapedType::isDynamic(knownDepth) || knownDepth % steps)
        value =
            arith::SelectOp::create(b, loc, less(number, depth), value, zero);
      pieces.push_back(value);
    }
  }
  return pieces;
}

void ThreadWriter::storePieces(ValueRange pieces) {
  size_t next = 0;
  for (Side *side : {&rows, &columns})
    for (int64_t i = 0; i < countMoved(*side); ++i) {
      auto [place, step] = getMoved(*side, i);
      OpBuilder::InsertionGuard guard(b);
      if (side->size * steps % threads) {
        Value isThere =
            less(add(thread, index(i * threads)), index(side->size * steps));
        auto branch = scf::IfOp::create(b, loc, isThere);
        b.setInsertionPointToStart(branch.thenBlock());
      }
      memref::StoreOp::create(b, loc, pieces[next++], side->memory,
                              ValueRange{step, place});
    }
}

/// The operand from step `from` on, so that what follows of an address does not
/// change from round to round. Null: its elements do not lie so.
Value ThreadWriter::viewFrom(const Side &side, Value from) {
  if (product.reductionLoops.size() != 1)
    return {};
  const unsigned loop = product.reductionLoops.front();
  Value memory = side.operand->get();
  auto type = cast<MemRefType>(memory.getType());
  SmallVector<OpFoldResult> offsets, lengths;
  for (auto [place, result] :
       llvm::enumerate(op.getMatchingIndexingMap(side.operand).getResults())) {
    const bool isStep = result == b.getAffineDimExpr(loop);
    if (!isStep && result.isFunctionOfDim(loop))
      return {};
    offsets.push_back(isStep ? OpFoldResult(from) : b.getIndexAttr(0));
    lengths.push_back(isStep ? OpFoldResult(min(sub(depth, from), index(steps)))
                             : memref::getMixedSize(b, loc, memory, place));
  }
  SmallVector<OpFoldResult> strides(type.getRank(), b.getIndexAttr(1));
  return memref::SubViewOp::create(b, loc, memory, offsets, lengths, strides);
}

/// Copies the steps from `from` on, if there are any, which is waited for
/// later. Behind the last step are zeros.
void ThreadWriter::copyPieces(Value stage, Value from) {
  {
    OpBuilder::InsertionGuard guard(b);
    auto isAny = scf::IfOp::create(b, loc, less(from, depth));
    b.setInsertionPointToStart(isAny.thenBlock());
    Value left = sub(depth, from);
    for (Side *side : {&rows, &columns}) {
      Value source = viewFrom(*side, from);
      auto one = b.getIndexAttr(1), zero = b.getIndexAttr(0);
      auto width = b.getIndexAttr(side->size + 4);
      Value target = memref::SubViewOp::create(
          b, loc, side->memory, ArrayRef<OpFoldResult>{stage, zero, zero},
          ArrayRef<OpFoldResult>{one, b.getIndexAttr(steps), width},
          ArrayRef<OpFoldResult>{one, one, one});
      for (int64_t i = 0; i < countMoved(*side); ++i) {
        OpBuilder::InsertionGuard guard(b);
        auto [place, step] = getMoved(*side, i);
        if (side->size * steps % threads) {
          Value isThere =
              less(add(thread, index(i * threads)), index(side->size * steps));
          auto branch = scf::IfOp::create(b, loc, isThere);
          b.setInsertionPointToStart(branch.thenBlock());
        }
        indices[side->loop] = clampTo(*side, place);
        Value number = step, valid;
        if (ShapedType::isDynamic(knownDepth) || knownDepth % steps) {
          valid = arith::SelectOp::create(b, loc, less(number, left), index(1),
                                          index(0));
          number = min(number, sub(left, index(1)));
        }
        setIndices(b, loc, source ? number : add(from, number),
                   product.reductionLoops, sizes, indices);
        nvgpu::DeviceAsyncCopyOp::create(
            b, loc, target, ValueRange{index(0), step, place},
            source ? source : side->operand->get(),
            product.getPlace(b, side->operand, indices), b.getIndexAttr(1),
            valid, /*bypassL1=*/nullptr);
      }
    }
  }
  NVVM::CpAsyncCommitGroupOp::create(b, loc);
}

SmallVector<Value> ThreadWriter::loadSums() {
  SmallVector<Value> sums;
  for (int64_t i = 0; i < rows.own; ++i)
    for (int64_t j = 0; j < columns.own; ++j) {
      indices[rows.loop] = clampTo(rows, rows.getPlace(b, loc, i));
      indices[columns.loop] = clampTo(columns, columns.getPlace(b, loc, j));
      Value sum =
          begin ? begin
                : memref::LoadOp::create(b, loc, output->get(),
                                         product.getPlace(b, output, indices))
                      .getResult();
      if (sharers > 1) { // one of them has it
        sum = arith::SelectOp::create(b, loc, less(sharer, index(1)), sum,
                                      makeNeutral(sum.getType()));
      }
      sums.push_back(sum);
    }
  return sums;
}

/// Those of all sharers.
SmallVector<Value> ThreadWriter::addUp(ValueRange sums) {
  if (sharers == 1)
    return sums;
  return llvm::map_to_vector(sums, [&](Value sum) -> Value {
    return gpu::SubgroupReduceOp::create(
        b, loc, sum, gpu::AllReduceOperation::ADD,
        /*uniform=*/true, static_cast<uint32_t>(sharers),
        static_cast<uint32_t>(subgroup / sharers));
  });
}

/// Whether each of the sharers can store some of a side's elements: these
/// follow each other in the tile.
static bool canShare(const Side &side, int64_t sharers) {
  return side.own % sharers == 0 && (side.own % 4 || sharers <= 4);
}

void ThreadWriter::storeSums(ValueRange sums) {
  OpBuilder::InsertionGuard outside(b);
  // All sharers have the same sums: each stores some rows, or one all.
  const int64_t together = canShare(rows, sharers) ? sharers : 1;
  if (sharers > together) {
    auto branch = scf::IfOp::create(b, loc, less(sharer, index(1)));
    b.setInsertionPointToStart(branch.thenBlock());
  }
  for (int64_t i = 0; i < rows.own; i += together)
    for (int64_t j = 0; j < columns.own; ++j) {
      OpBuilder::InsertionGuard guard(b);
      auto setPlace = [&](Side &side, Value place) {
        place = add(side.from, place);
        indices[side.loop] = place;
        if (side.isWhole)
          return;
        auto branch = scf::IfOp::create(b, loc, less(place, sizes[side.loop]));
        b.setInsertionPointToStart(branch.thenBlock());
      };
      Value sum = sums[i * columns.own + j], row = rows.getPlace(b, loc, i);
      for (int64_t other = 1; other < together; ++other)
        sum = arith::SelectOp::create(b, loc, less(sharer, index(other)), sum,
                                      sums[(i + other) * columns.own + j]);
      setPlace(rows, together > 1 ? add(row, sharer) : row);
      setPlace(columns, columns.getPlace(b, loc, j));
      memref::StoreOp::create(b, loc, sum, output->get(),
                              product.getPlace(b, output, indices));
    }
}

/// The thread's elements of a step, fours of them together. Rows of pieces are
/// whole fours.
SmallVector<Value> ThreadWriter::loadOwn(const Side &side, Value stage,
                                         Value step) {
  constexpr int64_t four = 4;
  Type type = product.getElementType(side.operand);
  SmallVector<Value> values;
  auto getPlace = [&](int64_t i) {
    SmallVector<Value> place{step, side.getPlace(b, loc, i)};
    if (stage)
      place.insert(place.begin(), stage);
    return place;
  };
  // Booleans and the like are bytes in memory, and bits in a vector.
  if (side.own % four == 0 && type.isIntOrFloat() &&
      type.getIntOrFloatBitWidth() % 8 == 0) {
    auto vector = VectorType::get({four}, type);
    const llvm::Align alignment(
        std::min<int64_t>(four * *getElementBytes(type), 16));
    for (int64_t i = 0; i < side.own; i += four) {
      Value loaded = vector::LoadOp::create(b, loc, vector, side.memory,
                                            getPlace(i), /*nontemporal=*/false,
                                            llvm::MaybeAlign(alignment));
      for (int64_t j = 0; j < four; ++j)
        values.push_back(vector::ExtractOp::create(b, loc, loaded, j));
    }
    return values;
  }
  for (int64_t i = 0; i < side.own; ++i)
    values.push_back(memref::LoadOp::create(b, loc, side.memory, getPlace(i)));
  return values;
}

/// Adds the products of a step to the sums.
void ThreadWriter::multiplyStep(const Elements &elements,
                                MutableArrayRef<Value> sums) {
  for (int64_t i = 0; i < rows.own; ++i)
    for (int64_t j = 0; j < columns.own; ++j) {
      Value &sum = sums[i * columns.own + j];
      sum = product.compute(b, elements.first[i], elements.second[j], sum);
    }
}

/// Adds the products of all steps in workgroup memory to the sums.
SmallVector<Value> ThreadWriter::multiply(ValueRange sums, Value stage) {
  auto load = [&](Value step) -> Elements {
    if (sharers > 1)
      step = add(arith::MulIOp::create(b, loc, step, index(sharers)), sharer);
    return {loadOwn(rows, stage, step), loadOwn(columns, stage, step)};
  };
  const int64_t count = steps / sharers;
  SmallVector<Value> now(sums);
  // A step's elements are loaded while the one before it is multiplied: a load
  // takes as long as some twenty products.
  constexpr int64_t mostProducts = 1024;
  if (isAsync && count * rows.own * columns.own <= mostProducts) {
    Elements elements = load(index(0));
    for (int64_t step = 0; step < count; ++step) {
      Elements next;
      if (step + 1 < count)
        next = load(index(step + 1));
      multiplyStep(elements, now);
      elements = std::move(next);
    }
    return now;
  }
  auto loop =
      scf::ForOp::create(b, loc, index(0), index(count), index(unrolled), sums);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  now.assign(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
  for (int64_t further = 0; further < unrolled; ++further)
    multiplyStep(load(add(loop.getInductionVar(), index(further))), now);
  scf::YieldOp::create(b, loc, now);
  return loop.getResults();
}

void ThreadWriter::writeTile() {
  SmallVector<Value> carried = loadSums();
  const size_t sums = carried.size();
  if (ShapedType::isDynamic(knownDepth)) {
    // Without a step there is nothing to load.
    SmallVector<Type> types;
    for (Side *side : {&rows, &columns})
      types.append(countMoved(*side), product.getElementType(side->operand));
    auto branch = scf::IfOp::create(b, loc, types, less(index(0), depth),
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, loc, loadPieces(index(0)));
    b.setInsertionPointToStart(branch.elseBlock());
    SmallVector<Value> zeros;
    for (Type type : types)
      zeros.push_back(arith::ConstantOp::create(b, loc, b.getZeroAttr(type)));
    scf::YieldOp::create(b, loc, zeros);
    llvm::append_range(carried, branch.getResults());
  } else if (knownDepth) {
    llvm::append_range(carried, loadPieces(index(0)));
  } else {
    if (begin)
      storeSums(addUp(carried));
    return;
  }
  auto loop =
      scf::ForOp::create(b, loc, index(0), depth, index(steps), carried);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    storePieces(loop.getRegionIterArgs().drop_front(sums));
    gpu::BarrierOp::create(b, loc);
    SmallVector<Value> pieces =
        loadPieces(add(loop.getInductionVar(), index(steps)));
    SmallVector<Value> next =
        multiply(loop.getRegionIterArgs().take_front(sums));
    gpu::BarrierOp::create(b, loc);
    llvm::append_range(next, pieces);
    scf::YieldOp::create(b, loc, next);
  }
  storeSums(addUp(loop.getResults().take_front(sums)));
}

/// While a stage is multiplied, the ones behind it are on their way.
void ThreadWriter::writeTileByStages() {
  SmallVector<Value> sums = loadSums();
  const int64_t ahead = stages - 1;
  for (int64_t stage = 0; stage < ahead; ++stage)
    copyPieces(index(stage), index(stage * steps));
  auto loop = scf::ForOp::create(b, loc, index(0), depth, index(steps), sums);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value from = loop.getInductionVar();
    Value round = arith::DivUIOp::create(b, loc, from, index(steps));
    auto getStage = [&](Value number) -> Value {
      return arith::RemUIOp::create(b, loc, number, index(stages));
    };
    // The stage is there, and nobody reads the one before it.
    NVVM::CpAsyncWaitGroupOp::create(b, loc, ahead - 1);
    gpu::BarrierOp::create(b, loc);
    copyPieces(getStage(add(round, index(ahead))),
               add(from, index(ahead * steps)));
    scf::YieldOp::create(b, loc,
                         multiply(loop.getRegionIterArgs(), getStage(round)));
  }
  NVVM::CpAsyncWaitGroupOp::create(b, loc, 0);
  gpu::BarrierOp::create(b, loc);
  storeSums(addUp(loop.getResults()));
}

/// Decides which rows and columns are the thread's. The threads of a subgroup
/// are a square, so that they read few elements from workgroup memory.
void ThreadWriter::placeThread() {
  auto divide = [&](Value value, int64_t by) -> Value {
    return arith::DivUIOp::create(b, loc, value, index(by));
  };
  auto remain = [&](Value value, int64_t by) -> Value {
    return arith::RemUIOp::create(b, loc, value, index(by));
  };
  auto scale = [&](Value value, int64_t by) -> Value {
    return arith::MulIOp::create(b, loc, value, index(by));
  };
  // Sharers of the same sums are `lanes` apart in a subgroup.
  const int64_t lanes = std::min(subgroup, threads) / sharers;
  Value lane = remain(thread, lanes), square = divide(thread, lanes);
  if (sharers > 1) {
    sharer = remain(square, sharers);
    square = divide(square, sharers);
  }
  int64_t across = 1;
  while (across * across < lanes)
    across *= 2;
  across = std::min(across, columns.threads);
  const int64_t down = std::min(lanes / across, rows.threads);
  across = lanes / down;
  // Loads of 16 bytes take half the time if every second lane, or every second
  // pair of lanes, reads the same: the lowest bit is of the columns, those
  // above it are of the rows.
  const int64_t pair = std::min<int64_t>(across, 2);
  columns.thread =
      add(scale(remain(square, columns.threads / across), across),
          add(scale(divide(lane, pair * down), pair), remain(lane, pair)));
  rows.thread = add(scale(divide(square, columns.threads / across), down),
                    remain(divide(lane, pair), down));
}

void ThreadWriter::write() {
  OpBuilder::InsertionGuard guard(b);
  auto launch = op->getParentOfType<gpu::LaunchOp>();
  for (Side *side : {&rows, &columns})
    side->memory = launch.addWorkgroupAttribution(getPieceType(*side), loc);
  for (const Range &range : op.createLoopRanges(b, loc))
    sizes.push_back(getValueOrCreateConstantIndexOp(b, loc, range.size));
  depth = countRounds(b, loc, product.reductionLoops, sizes);
  placeThread();
  for (Side *side : {&rows, &columns})
    side->last = sub(sizes[side->loop], index(1));
  for (unsigned each : product.otherLoops)
    indices[each] = open(sizes[each], 1);
  rows.from = open(sizes[rows.loop], rows.size);
  columns.from = open(sizes[columns.loop], columns.size);
  if (isAsync)
    writeTileByStages();
  else
    writeTile();
}

bool offload::contractByThreads(RewriterBase &rewriter, linalg::LinalgOp op,
                                Value thread, int64_t threads,
                                bool hasAsyncCopies, Value begin) {
  std::optional<Contraction> product = Contraction::match(op);
  if (!product || !op.hasPureBufferSemantics() ||
      !op->getParentOfType<gpu::LaunchOp>())
    return false;
  rewriter.setInsertionPoint(op);
  ThreadWriter writer(rewriter, *product, thread, threads, hasAsyncCopies,
                      begin);
  if (!writer.chooseSizes())
    return false;
  writer.write();
  rewriter.eraseOp(op);
  return true;
}
