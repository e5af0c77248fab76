//===- ContractByTensorCores.cpp - products of a block's subgroups --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each subgroup of a block has the sums of some rows and columns in registers,
// as mma.sync and wgmma want them. Pieces of both operands are copied to stages
// of workgroup memory while earlier ones are multiplied. What the block
// computes besides, element by element, is done with the sums before they are
// stored.
//===----------------------------------------------------------------------===//

#include "ContractionWriter.h"
#include "Distribute.h"
#include "ElementOps.h"
#include "Schedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::offload;

bool offload::isForTensorCores(linalg::LinalgOp op) {
  std::optional<Contraction> product = Contraction::match(op);
  if (!product)
    return false;
  Type narrow = product->getElementType(product->rows),
       sum = product->getElementType(op.getDpsInitOperand(0));
  if (!(narrow.isF16() || narrow.isBF16()) ||
      narrow != product->getElementType(product->columns) ||
      !(sum == narrow || sum.isF32()))
    return false;
  // What is multiplied are the elements, of more digits if need be.
  for (Operation &inner : op.getBlock()->without_terminator())
    if (!(isa<arith::MulFOp, arith::AddFOp>(inner) &&
          inner.getResult(0).getType() == sum) &&
        !(isa<arith::ExtFOp>(inner) && inner.getOperand(0).getType() == narrow))
      return false;
  // Fewer than fill a fragment are faster by threads, but for two rows of many
  // columns and steps, or columns of many rows.
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  auto isLong = [](int64_t size, int64_t least = 8) {
    return ShapedType::isDynamic(size) || size >= least;
  };
  SmallVector<int64_t> steps;
  for (unsigned loop : product->reductionLoops)
    steps.push_back(sizes[loop]);
  int64_t depth = countElements(steps).value_or(ShapedType::kDynamic);
  int64_t rows = sizes[product->rowLoop], columns = sizes[product->columnLoop];
  auto areLong = [&](int64_t few, int64_t many) {
    return isLong(few, 2) && isLong(many, 128) && isLong(depth, 128);
  };
  return (isLong(rows) && isLong(columns) && isLong(depth)) ||
         areLong(rows, columns) || areLong(columns, rows);
}

namespace {
/// Elements that a lane copies at a time, which are 16 bytes: a row of one of
/// the matrices of 8 x 8 that ldmatrix loads.
constexpr int64_t chunk = 8;
/// Rows and columns of a fragment, and steps of the reduction.
constexpr int64_t fragment = 16;
constexpr int64_t lanes = 32;
/// Most elements of a row of workgroup memory: 128 bytes, after which banks
/// repeat.
constexpr int64_t line = 64;
/// By wgmma four subgroups compute so many rows together.
constexpr int64_t warpgroupRows = 64;

/// Rows or columns of a block's tile.
struct Side {
  OpOperand *operand;
  unsigned loop;
  /// Of the tile, and subgroups along it.
  int64_t size, subgroups = 1;
  /// Whether steps of the reduction are side by side in memory.
  bool isAlongReduction;
  /// All tiles are whole.
  bool isWhole;
  /// Its stages.
  Value memory;
  /// Where the tile begins, and the subgroup's part of it.
  Value from, first;
  /// The most that an index may be.
  Value last;
  /// Where the lane's rows of fragments are, from the beginning of the
  /// fragment.
  Value laneSide, laneStep;
  /// Whether chunks lie at multiples of their size; null: they do not.
  Value isAligned;

  int64_t getOwn() const { return size / subgroups; }
};

/// Writes them at the builder's place.
class TensorCoreWriter : ContractionWriter {
public:
  TensorCoreWriter(RewriterBase &b, ElementOps &block, Contraction &product,
                   Value thread, int64_t threads, bool hasWarpgroups)
      : ContractionWriter(b, product), block(block), thread(thread),
        threads(threads), hasWarpgroups(hasWarpgroups) {}

  void write();

private:
  Value mul(Value x, int64_t y) {
    return arith::MulIOp::create(b, loc, x, index(y));
  }
  Value div(Value x, int64_t y) {
    return arith::DivUIOp::create(b, loc, x, index(y));
  }
  Value rem(Value x, int64_t y) {
    return arith::RemUIOp::create(b, loc, x, index(y));
  }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, loc, condition, x, y);
  }
  Value isZero(Value x) {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, x, index(0));
  }
  Value both(Value x, Value y) {
    return x ? arith::AndIOp::create(b, loc, x, y).getResult() : y;
  }
  /// The builder is in the branch then.
  void open(Value condition) {
    auto branch = scf::IfOp::create(b, loc, condition);
    b.setInsertionPointToStart(branch.thenBlock());
  }
  using ContractionWriter::open;

  void chooseSizes();
  int64_t getStageBytes() { return (rows.size + columns.size) * steps * 2; }
  void setMemory();
  void setLanes();
  Value findAlignment(Side &side);
  /// Elements side by side in a row of workgroup memory.
  int64_t getLine(const Side &side) {
    return side.isAlongReduction ? steps : std::min(side.size, line);
  }
  SmallVector<Value> getStored(const Side &side, Value stage, Value place,
                               Value step, Value twisting);
  /// Where a chunk is stored, and of which place and step its first element is.
  struct Chunk {
    SmallVector<Value> stored;
    Value place, step;
  };
  Chunk findChunk(Side &side, Value stage, Value from, Value number);
  SmallVector<Value> getSource(Side &side, Value place, Value step);
  void copyChunk(Side &side, Value stage, Value from, Value number);
  void copyElements(Side &side, Value stage, Value from);
  void copyPieces(Value stage, Value from);
  SmallVector<Value> loadFragments(Side &side, Value stage, int64_t step);
  SmallVector<Value> loadFragments(Value stage, int64_t step);
  void multiply(ArrayRef<Value> fragments, MutableArrayRef<Value> sums);
  /// How many stages are copied before they are multiplied.
  int64_t getAhead() { return isByWarpgroups ? stages - 2 : stages - 1; }
  void copyFirstStages();
  void waitForStage();
  SmallVector<Value> addUp();
  Value getDescriptor(Side &side, Value stage, int64_t step);
  Value multiplyByWarpgroup(Value stage, Value sums);
  SmallVector<Value> addUpByWarpgroups();
  void finish(ArrayRef<Value> sums);
  void finishRows(int64_t from);
  /// What memory holds in the end, and where; null: it is there.
  struct Element {
    llvm::MapVector<Value, Value> values;
    llvm::DenseMap<Value, SmallVector<Value>> places;
    Value isThere;
  };
  Element finishElement(Value sum);

  ElementOps &block;
  Value thread;
  int64_t threads;
  bool hasWarpgroups;
  SmallVector<Value> sizes;
  Side rows, columns;
  Value depth, lane, subgroup;
  bool isDepthWhole;
  /// Whether wgmma is used, which reads both operands in workgroup memory.
  bool isByWarpgroups;
  /// Sums that the lanes hand to each other.
  Value exchange;
  /// Of the reduction, in a stage.
  int64_t steps, stages;
  /// Bytes that a block may have, on any chip from sm_80 on (sm_86: 99 KiB),
  /// and on sm_90 (227 KiB).
  static constexpr int64_t mostBytes = 96 << 10, mostOfWarpgroups = 192 << 10;
};
} // namespace

void TensorCoreWriter::chooseSizes() {
  auto bound = [&](unsigned loop, int64_t limit) {
    int64_t most = findMostRounds(op, loop).value_or(128);
    return std::clamp<int64_t>(llvm::PowerOf2Ceil(most), fragment, limit);
  };
  rows.operand = product.rows;
  rows.loop = product.rowLoop;
  rows.size = bound(rows.loop, hasWarpgroups ? 2 * warpgroupRows : 256);
  columns.operand = product.columns;
  columns.loop = product.columnLoop;
  columns.size = std::min(bound(columns.loop, 256), 32768 / rows.size);
  const int64_t subgroups = threads / lanes;
  // A fragment for each subgroup.
  while (rows.size * columns.size < subgroups * fragment * fragment)
    columns.size *= 2;
  // Two warpgroups below each other or side by side, with whole lines each.
  isByWarpgroups = hasWarpgroups && rows.size >= warpgroupRows &&
                   rows.size * columns.size >= 2 * warpgroupRows * line;
  if (isByWarpgroups) {
    rows.subgroups = rows.size / fragment;
    columns.subgroups = subgroups / rows.subgroups;
  }
  // Each subgroup's part is as square as can be.
  while (rows.subgroups * columns.subgroups < subgroups) {
    bool isHigh = rows.getOwn() >= columns.getOwn();
    (isHigh ? rows : columns).subgroups *= 2;
  }
  SmallVector<int64_t> lengths = op.getStaticLoopRanges();
  for (Side *side : {&rows, &columns}) {
    AffineMap map = op.getMatchingIndexingMap(side->operand);
    side->isAlongReduction =
        !map.getResult(map.getNumResults() - 1).isFunctionOfDim(side->loop);
    int64_t length = lengths[side->loop];
    side->isWhole = !ShapedType::isDynamic(length) && length % side->size == 0;
  }
  int64_t knownDepth = 1;
  for (unsigned loop : product.reductionLoops)
    knownDepth = ShapedType::isDynamic(knownDepth) ||
                         ShapedType::isDynamic(lengths[loop])
                     ? ShapedType::kDynamic
                     : knownDepth * lengths[loop];
  stages = 4;
  steps = line;
  if (stages * getStageBytes() >
      (isByWarpgroups ? mostOfWarpgroups : mostBytes))
    steps /= 2;
  if (!ShapedType::isDynamic(knownDepth)) {
    const int64_t rounds = llvm::divideCeil(knownDepth, steps);
    stages = isByWarpgroups ? std::clamp<int64_t>(rounds + 1, 3, stages)
                            : std::clamp<int64_t>(rounds, 2, stages);
  }
  isDepthWhole = !ShapedType::isDynamic(knownDepth) && knownDepth % steps == 0;
}

/// Whether the lanes may copy whole chunks of the operand. What is known of its
/// strides is decided here.
Value TensorCoreWriter::findAlignment(Side &side) {
  AffineMap map = op.getMatchingIndexingMap(side.operand);
  auto last = dyn_cast<AffineDimExpr>(map.getResults().back());
  if (!last ||
      last.getPosition() !=
          (side.isAlongReduction ? product.reductionLoops.back() : side.loop))
    return Value();
  // A chunk is of one round of the outer loops.
  int64_t length = op.getStaticLoopRanges()[last.getPosition()];
  if (side.isAlongReduction && product.reductionLoops.size() > 1 &&
      (ShapedType::isDynamic(length) || length % chunk))
    return Value();
  Value memory = side.operand->get();
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(cast<MemRefType>(memory.getType())
                 .getStridesAndOffset(strides, offset)) ||
      strides.back() != 1)
    return Value();
  strides.back() = offset;
  if (llvm::any_of(strides, [](int64_t stride) {
        return !ShapedType::isDynamic(stride) && stride % chunk;
      }))
    return Value();
  Value result = isZero(
      rem(memref::ExtractAlignedPointerAsIndexOp::create(b, loc, memory), 16));
  auto metadata = memref::ExtractStridedMetadataOp::create(b, loc, memory);
  SmallVector<Value> known(metadata.getStrides());
  known.back() = metadata.getOffset();
  for (auto [stride, value] : llvm::zip(strides, known))
    if (ShapedType::isDynamic(stride))
      result = both(result, isZero(rem(value, chunk)));
  return result;
}

/// Stages of both sides, and in their place, afterwards, the sums of a
/// fragment's rows of each subgroup.
void TensorCoreWriter::setMemory() {
  auto space =
      gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup);
  auto bytesType = MemRefType::get({ShapedType::kDynamic}, b.getI8Type(),
                                   MemRefLayoutAttrInterface(), space);
  Value all = gpu::DynamicSharedMemoryOp::create(b, loc, bytesType);
  int64_t used = 0;
  auto view = [&](ArrayRef<int64_t> shape, Type element) -> Value {
    auto type =
        MemRefType::get(shape, element, MemRefLayoutAttrInterface(), space);
    Value memory =
        memref::ViewOp::create(b, loc, type, all, index(used), ValueRange());
    used += type.getNumElements() * *getElementBytes(element);
    return memory;
  };
  // Rows are longer by some: what lanes store together is in different banks.
  exchange = view({threads / lanes, fragment, columns.getOwn() + chunk},
                  b.getF32Type());
  int64_t most = used;
  used = 0;
  for (Side *side : {&rows, &columns})
    side->memory =
        view({stages, side->size * steps / getLine(*side), getLine(*side)},
             product.getElementType(side->operand));
  most = std::max(most, used);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(block.launch);
  block.launch.getDynamicSharedMemorySizeMutable().assign(
      arith::ConstantIntOp::create(b, loc, most, 32));
}

/// Each lane says where one row of a matrix is; the four matrices of a fragment
/// of rows are below each other first, those of columns behind each other.
void TensorCoreWriter::setLanes() {
  lane = rem(thread, lanes);
  subgroup = div(thread, lanes);
  rows.first = mul(rem(subgroup, rows.subgroups), rows.getOwn());
  columns.first = mul(div(subgroup, rows.subgroups), columns.getOwn());
  Value row = rem(lane, chunk);
  Value odd = mul(rem(div(lane, chunk), 2), chunk);
  Value high = mul(div(lane, 2 * chunk), chunk);
  for (Side *side : {&rows, &columns}) {
    side->laneSide = side == &rows ? odd : high;
    side->laneStep = side == &rows ? high : odd;
    Value &isRow = side->isAlongReduction ? side->laneSide : side->laneStep;
    isRow = add(isRow, row);
  }
}

/// Where the chunk of a place of the tile and a step of the stage is. Rows are
/// places, or steps, of one line of places after the other. Chunks change
/// places in their row, so that of eight rows that follow each other the same
/// chunk is in different banks; rows of 128 bytes are so what wgmma calls
/// swizzled. `twisting` is the place or the step, but for a multiple of 16.
SmallVector<Value> TensorCoreWriter::getStored(const Side &side, Value stage,
                                               Value place, Value step,
                                               Value twisting) {
  const int64_t length = getLine(side), turns = std::min(length / chunk, chunk);
  Value row = place, inner = step;
  if (!side.isAlongReduction) {
    row = add(mul(div(place, length), steps), step);
    inner = rem(place, length);
  }
  Value twist = rem(div(twisting, chunk / turns), turns);
  Value number = arith::XOrIOp::create(b, loc, div(inner, chunk), twist);
  return {stage, row, mul(number, chunk)};
}

/// Places of chunk `number` of the steps from `from` on.
TensorCoreWriter::Chunk TensorCoreWriter::findChunk(Side &side, Value stage,
                                                    Value from, Value number) {
  const int64_t count = (side.isAlongReduction ? steps : side.size) / chunk;
  Value outer = div(number, count), inner = mul(rem(number, count), chunk);
  Value place = side.isAlongReduction ? outer : inner;
  Value step = side.isAlongReduction ? inner : outer;
  return {getStored(side, stage, place, step, outer), add(side.from, place),
          add(from, step)};
}

/// Where an element of the operand is.
SmallVector<Value> TensorCoreWriter::getSource(Side &side, Value place,
                                               Value step) {
  indices[side.loop] = place;
  setIndices(b, loc, step, product.reductionLoops, sizes, indices);
  return product.getPlace(b, side.operand, indices);
}

/// The copy is waited for later. Behind the last row, column or step are zeros.
void TensorCoreWriter::copyChunk(Side &side, Value stage, Value from,
                                 Value number) {
  OpBuilder::InsertionGuard guard(b);
  if (const int64_t all = side.size * steps / chunk; all < threads)
    open(less(number, index(all)));
  Chunk at = findChunk(side, stage, from, number);
  Value valid;
  if (!side.isWhole || !isDepthWhole) {
    Value isThere = arith::AndIOp::create(
        b, loc, less(at.place, sizes[side.loop]), less(at.step, depth));
    Value left = side.isAlongReduction ? sub(depth, at.step)
                                       : sub(sizes[side.loop], at.place);
    valid = select(isThere, min(left, index(chunk)), index(0));
    at.place = select(isThere, at.place, index(0));
    at.step = select(isThere, at.step, index(0));
  }
  nvgpu::DeviceAsyncCopyOp::create(
      b, loc, side.memory, at.stored, side.operand->get(),
      getSource(side, at.place, at.step), b.getIndexAttr(chunk), valid,
      b.getUnitAttr());
}

/// The same of all of the thread's chunks, element by element.
void TensorCoreWriter::copyElements(Side &side, Value stage, Value from) {
  OpBuilder::InsertionGuard guard(b);
  auto loop = scf::ForOp::create(
      b, loc, thread, index(side.size * steps / chunk), index(threads));
  b.setInsertionPointToStart(loop.getBody());
  Chunk at = findChunk(side, stage, from, loop.getInductionVar());
  Type type = product.getElementType(side.operand);
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  Value lastStep = sub(depth, index(1));
  SmallVector<Value> elements;
  for (int64_t i = 0; i < chunk; ++i) {
    Value place = side.isAlongReduction ? at.place : add(at.place, index(i));
    Value step = side.isAlongReduction ? add(at.step, index(i)) : at.step;
    Value isThere = arith::AndIOp::create(b, loc, less(place, sizes[side.loop]),
                                          less(step, depth));
    Value value = memref::LoadOp::create(
        b, loc, side.operand->get(),
        getSource(side, min(place, side.last), min(step, lastStep)));
    elements.push_back(select(isThere, value, zero));
  }
  Value whole = vector::FromElementsOp::create(
      b, loc, VectorType::get({chunk}, type), elements);
  vector::StoreOp::create(b, loc, whole, side.memory, at.stored);
}

/// The steps from `from` on, if there are any.
void TensorCoreWriter::copyPieces(Value stage, Value from) {
  {
    OpBuilder::InsertionGuard guard(b);
    open(less(from, depth));
    for (Side *side : {&rows, &columns}) {
      OpBuilder::InsertionGuard guard(b);
      if (side->isAligned) {
        auto branch = scf::IfOp::create(b, loc, side->isAligned,
                                        /*withElseRegion=*/true);
        b.setInsertionPointToStart(branch.thenBlock());
        for (int64_t at = 0; at < side->size * steps / chunk; at += threads)
          copyChunk(*side, stage, from, add(thread, index(at)));
        b.setInsertionPointToStart(branch.elseBlock());
      }
      copyElements(*side, stage, from);
    }
  }
  NVVM::CpAsyncCommitGroupOp::create(b, loc);
}

/// Of a step, four registers for each fragment of the subgroup's.
SmallVector<Value> TensorCoreWriter::loadFragments(Side &side, Value stage,
                                                   int64_t step) {
  Type type = product.getElementType(side.operand);
  SmallVector<Value> registers;
  for (int64_t i = 0; i < side.getOwn(); i += fragment) {
    Value place = add(add(side.first, index(i)), side.laneSide);
    Value ownStep = add(index(step), side.laneStep);
    Value loaded = nvgpu::LdMatrixOp::create(
        b, loc, VectorType::get({4, 2}, type), side.memory,
        getStored(side, stage, place, ownStep,
                  side.isAlongReduction ? side.laneSide : side.laneStep),
        /*transpose=*/!side.isAlongReduction, /*numTiles=*/4);
    // Of bf16 the instruction takes words.
    if (type.isBF16())
      loaded = vector::BitCastOp::create(
          b, loc, VectorType::get({4, 1}, b.getI32Type()), loaded);
    for (int64_t j = 0; j < 4; ++j) {
      SmallVector<int64_t> place{j};
      if (type.isBF16())
        place.push_back(0);
      registers.push_back(vector::ExtractOp::create(b, loc, loaded, place));
    }
  }
  return registers;
}

/// Of both sides.
SmallVector<Value> TensorCoreWriter::loadFragments(Value stage, int64_t step) {
  SmallVector<Value> registers = loadFragments(rows, stage, step);
  llvm::append_range(registers, loadFragments(columns, stage, step));
  return registers;
}

void TensorCoreWriter::multiply(ArrayRef<Value> fragments,
                                MutableArrayRef<Value> sums) {
  auto kind = product.getElementType(rows.operand).isF16()
                  ? NVVM::MMATypes::f16
                  : NVVM::MMATypes::bf16;
  Type type = LLVM::LLVMStructType::getLiteral(
      b.getContext(), SmallVector<Type>(4, b.getF32Type()));
  ArrayRef<Value> left = fragments.take_front(rows.getOwn() / fragment * 4),
                  right = fragments.drop_front(left.size());
  for (size_t i = 0; i < left.size(); i += 4)
    for (size_t j = 0; j < right.size(); j += 2) {
      auto own = sums.take_front(4);
      sums = sums.drop_front(4);
      auto added = NVVM::MmaOp::create(
          b, loc, type, left.slice(i, 4), right.slice(j, 2), own,
          ArrayRef<int64_t>{16, 8, 16}, std::nullopt, std::nullopt,
          std::array{kind, kind},
          std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
      for (auto [number, sum] : llvm::enumerate(own))
        sum = LLVM::ExtractValueOp::create(b, loc, added, number);
    }
}

/// The sums of the subgroup's part. Fragments are loaded a step before they are
/// multiplied.
SmallVector<Value> TensorCoreWriter::addUp() {
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(b.getF32Type()));
  SmallVector<Value> sums(rows.getOwn() * columns.getOwn() / lanes, zero);
  copyFirstStages();
  waitForStage();
  SmallVector<Value> carried(sums);
  llvm::append_range(carried, loadFragments(index(0), 0));
  auto loop =
      scf::ForOp::create(b, loc, index(0), depth, index(steps), carried);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> arguments(loop.getRegionIterArgs());
    MutableArrayRef<Value> now = arguments;
    now = now.take_front(sums.size());
    SmallVector<Value> fragments(
        ArrayRef<Value>(arguments).drop_front(sums.size()));
    Value from = loop.getInductionVar();
    Value round = div(from, steps);
    // Where all have loaded what was there.
    copyPieces(rem(add(round, index(getAhead())), stages),
               add(from, index(getAhead() * steps)));
    for (int64_t step = fragment; step <= steps; step += fragment) {
      const bool isInNext = step == steps;
      if (isInNext)
        waitForStage();
      Value stage = rem(add(round, index(isInNext)), stages);
      SmallVector<Value> next = loadFragments(stage, isInNext ? 0 : step);
      multiply(fragments, now);
      fragments = next;
    }
    SmallVector<Value> results(now);
    llvm::append_range(results, fragments);
    scf::YieldOp::create(b, loc, results);
  }
  NVVM::CpAsyncWaitGroupOp::create(b, loc, 0);
  gpu::BarrierOp::create(b, loc);
  return loop.getResults().take_front(sums.size());
}

void TensorCoreWriter::copyFirstStages() {
  OpBuilder::InsertionGuard guard(b);
  Value stage = open(index(getAhead()), 1);
  copyPieces(stage, mul(stage, steps));
}

/// The next one is there, and nobody reads the one before it; by warpgroups,
/// the one before that.
void TensorCoreWriter::waitForStage() {
  NVVM::CpAsyncWaitGroupOp::create(b, loc, getAhead() - 1);
  if (isByWarpgroups)
    NVVM::FenceProxyOp::create(
        b, loc, NVVM::ProxyKind::async_shared,
        NVVM::SharedSpaceAttr::get(b.getContext(),
                                   NVVM::SharedSpace::shared_cta));
  gpu::BarrierOp::create(b, loc);
}

/// Of the warpgroup's part of a side, from a step of the stage on: where it is,
/// how far eight rows are from the next eight (1024 bytes) and a line from the
/// next line, in units of 16 bytes; and that chunks change places in 128 bytes.
Value TensorCoreWriter::getDescriptor(Side &side, Value stage, int64_t step) {
  constexpr int64_t row = line * 2;
  Value first = mul(div(side.first, warpgroupRows), warpgroupRows);
  Value address =
      memref::ExtractAlignedPointerAsIndexOp::create(b, loc, side.memory);
  address = add(address, mul(stage, side.size * steps * 2));
  address = add(address, mul(first, row));
  address = add(address, index(step * (side.isAlongReduction ? 2 : row)));
  auto constant = [&](int64_t value) {
    return arith::ConstantIntOp::create(b, loc, value, 64);
  };
  Value bits = arith::IndexCastOp::create(b, loc, b.getI64Type(), address);
  bits = arith::AndIOp::create(b, loc, bits, constant((1 << 18) - 1));
  bits = arith::ShRUIOp::create(b, loc, bits, constant(4));
  const int64_t nextLine = side.isAlongReduction ? 1 : steps * row / 16;
  return arith::OrIOp::create(b, loc, bits,
                              constant(nextLine << 16 |
                                       int64_t(chunk * row / 16) << 32 |
                                       int64_t(1) << 62));
}

Value TensorCoreWriter::multiplyByWarpgroup(Value stage, Value sums) {
  using namespace NVVM;
  auto kind = product.getElementType(rows.operand).isF16() ? WGMMATypes::f16
                                                           : WGMMATypes::bf16;
  for (int64_t step = 0; step < steps; step += fragment)
    sums = WgmmaMmaAsyncOp::create(
        b, loc, sums.getType(), sums, getDescriptor(rows, stage, step),
        getDescriptor(columns, stage, step),
        MMAShapeAttr::get(b.getContext(), warpgroupRows, columns.getOwn(),
                          fragment),
        kind, kind, WGMMATypes::f32, WGMMAScaleOut::one, WGMMAScaleIn::one,
        WGMMAScaleIn::one,
        rows.isAlongReduction ? MMALayout::row : MMALayout::col,
        columns.isAlongReduction ? MMALayout::col : MMALayout::row,
        MMAIntOverflowAttr());
  return sums;
}

/// The sums of the subgroup's part, of which the warpgroup multiplies a stage
/// while it makes the next one ready.
SmallVector<Value> TensorCoreWriter::addUpByWarpgroups() {
  const int64_t count = rows.getOwn() * columns.getOwn() / lanes;
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(b.getF32Type()));
  Type type = LLVM::LLVMStructType::getLiteral(
      b.getContext(), SmallVector<Type>(count, b.getF32Type()));
  Value sums = LLVM::UndefOp::create(b, loc, type);
  for (int64_t i = 0; i < count; ++i)
    sums = LLVM::InsertValueOp::create(b, loc, sums, zero, i);
  copyFirstStages();
  auto loop = scf::ForOp::create(b, loc, index(0), depth, index(steps), sums);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value from = loop.getInductionVar();
    Value round = div(from, steps);
    waitForStage();
    NVVM::WgmmaFenceAlignedOp::create(b, loc);
    Value next =
        multiplyByWarpgroup(rem(round, stages), loop.getRegionIterArgs()[0]);
    NVVM::WgmmaGroupSyncAlignedOp::create(b, loc);
    copyPieces(rem(add(round, index(getAhead())), stages),
               add(from, index(getAhead() * steps)));
    NVVM::WgmmaWaitGroupSyncOp::create(b, loc, 1);
    scf::YieldOp::create(b, loc, next);
  }
  NVVM::WgmmaWaitGroupSyncOp::create(b, loc, 0);
  NVVM::CpAsyncWaitGroupOp::create(b, loc, 0);
  gpu::BarrierOp::create(b, loc);
  SmallVector<Value> result;
  for (int64_t i = 0; i < count; ++i)
    result.push_back(
        LLVM::ExtractValueOp::create(b, loc, loop.getResult(0), i));
  return result;
}

/// All that the block does with an element, at the indices, but for storing
/// what it comes to.
TensorCoreWriter::Element TensorCoreWriter::finishElement(Value sum) {
  Element element;
  for (linalg::LinalgOp each : block.ops) {
    SmallVector<Value> own;
    for (unsigned loop : block.loopsOf[each])
      own.push_back(indices[loop]);
    auto get = [&](OpOperand *operand) {
      auto found = element.values.find(operand->get());
      return found != element.values.end() ? found->second
                                           : loadInput(b, each, operand, own);
    };
    SmallVector<Value> results;
    if (each == op) {
      Value first = get(op.getDpsInitOperand(0));
      Type type = first.getType();
      if (!matchPattern(first, m_AnyZeroFloat())) {
        if (!type.isF32())
          first = arith::ExtFOp::create(b, loc, b.getF32Type(), first);
        sum = arith::AddFOp::create(b, loc, first, sum);
      }
      if (!type.isF32())
        sum = arith::TruncFOp::create(b, loc, type, sum);
      results.push_back(sum);
    } else {
      IRMapping map;
      for (OpOperand &operand : each->getOpOperands())
        if (each.payloadUsesValueFromOperand(&operand))
          map.map(each.getMatchingBlockArgument(&operand), get(&operand));
      results = cloneBody(b, each, own, map);
    }
    for (auto [output, value] : llvm::zip(each.getDpsInitsMutable(), results)) {
      element.values[output.get()] = value;
      element.places[output.get()] =
          applyMap(b, loc, each.getMatchingIndexingMap(&output), own);
    }
  }
  return element;
}

/// With the sums of the fragments' rows from `from` on, which are exchanged:
/// some elements at a time, so that their loads wait together. Those behind the
/// last row or column are computed as the last one is, and not stored.
void TensorCoreWriter::finishRows(int64_t from) {
  OpBuilder::InsertionGuard guard(b);
  const int64_t width = std::min(columns.getOwn(), lanes),
                height = lanes / width;
  const int64_t together = 8 / (columns.getOwn() / width) * height;
  Value first = add(open(index(fragment), together), div(lane, width));
  SmallVector<Element> elements;
  for (int64_t down = 0; down < together; down += height)
    for (int64_t across = 0; across < columns.getOwn(); across += width) {
      Value row = add(first, index(down));
      Value column = add(rem(lane, width), index(across));
      Value isThere;
      auto setIndex = [&](Side &side, Value place) {
        Value &index = indices[side.loop];
        index = add(add(side.from, side.first), place);
        if (side.isWhole)
          return;
        Value isIn = less(index, sizes[side.loop]);
        isThere = isThere ? arith::AndIOp::create(b, loc, isThere, isIn) : isIn;
        index = min(index, side.last);
      };
      setIndex(rows, add(row, index(from)));
      setIndex(columns, column);
      elements.push_back(finishElement(memref::LoadOp::create(
          b, loc, exchange, ValueRange{subgroup, row, column})));
      elements.back().isThere = isThere;
    }
  for (Element &element : elements) {
    OpBuilder::InsertionGuard guard(b);
    if (element.isThere)
      open(element.isThere);
    for (auto [memory, value] : element.values)
      if (!block.isOwn(memory))
        memref::StoreOp::create(b, loc, value, memory, element.places[memory]);
  }
}

/// The sums of a fragment's rows go through workgroup memory, after which lanes
/// side by side have columns side by side.
void TensorCoreWriter::finish(ArrayRef<Value> sums) {
  Value all = arith::ConstantIntOp::create(b, loc, -1, 32);
  for (int64_t from = 0; from < rows.getOwn(); from += fragment) {
    for (int64_t j = 0; j < columns.getOwn(); j += chunk)
      for (int64_t i = 0; i < 4; ++i, sums = sums.drop_front()) {
        Value row = add(div(lane, 4), index(i / 2 * chunk));
        Value column = add(mul(rem(lane, 4), 2), index(j + i % 2));
        memref::StoreOp::create(b, loc, sums.front(), exchange,
                                ValueRange{subgroup, row, column});
      }
    NVVM::SyncWarpOp::create(b, loc, all);
    finishRows(from);
    NVVM::SyncWarpOp::create(b, loc, all);
  }
}

void TensorCoreWriter::write() {
  OpBuilder::InsertionGuard guard(b);
  chooseSizes();
  setMemory();
  setLanes();
  for (const Range &range : op.createLoopRanges(b, loc))
    sizes.push_back(getValueOrCreateConstantIndexOp(b, loc, range.size));
  depth = countRounds(b, loc, product.reductionLoops, sizes);
  for (Side *side : {&rows, &columns}) {
    side->last = sub(sizes[side->loop], index(1));
    side->isAligned = findAlignment(*side);
  }
  for (unsigned each : product.otherLoops)
    indices[each] = open(sizes[each], 1);
  rows.from = open(sizes[rows.loop], rows.size);
  columns.from = open(sizes[columns.loop], columns.size);
  finish(isByWarpgroups ? addUpByWarpgroups() : addUp());
  // The next tile's pieces go where these sums are.
  gpu::BarrierOp::create(b, loc);
}

bool offload::contractByTensorCores(RewriterBase &rewriter,
                                    gpu::LaunchOp launch,
                                    ArrayRef<linalg::LinalgOp> ops,
                                    Value thread, int64_t threads,
                                    bool hasWarpgroups) {
  ElementOps block(launch, ops);
  if (!block.match())
    return false;
  Contraction product = *Contraction::match(block.product);
  rewriter.setInsertionPointAfter(ops.back());
  TensorCoreWriter(rewriter, block, product, thread, threads, hasWarpgroups)
      .write();
  block.erase(rewriter);
  return true;
}
