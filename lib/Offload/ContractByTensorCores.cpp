//===- ContractByTensorCores.cpp - products of a block's subgroups --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each subgroup of a block has the sums of some rows and columns in registers,
// as mma.sync wants them. Pieces of both operands are copied to stages of
// workgroup memory while earlier ones are multiplied. What the block computes
// besides, element by element, is done with the sums before they are stored.
//===----------------------------------------------------------------------===//

#include "Contraction.h"
#include "Distribute.h"
#include "Schedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
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
  // Fewer than fill a fragment are faster by threads.
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  auto isLong = [](int64_t size) {
    return ShapedType::isDynamic(size) || size >= 8;
  };
  int64_t depth = 1;
  for (unsigned loop : product->reductionLoops)
    depth = ShapedType::isDynamic(depth) || ShapedType::isDynamic(sizes[loop])
                ? ShapedType::kDynamic
                : depth * sizes[loop];
  return isLong(sizes[product->rowLoop]) &&
         isLong(sizes[product->columnLoop]) && isLong(depth);
}

//===----------------------------------------------------------------------===//
// What the block does
//===----------------------------------------------------------------------===//

namespace {
/// A product and ops that go through the same elements as its result.
class BlockOps {
public:
  BlockOps(gpu::LaunchOp launch, ArrayRef<linalg::LinalgOp> ops)
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
} // namespace

/// From the op's loops. False if another op has them otherwise.
bool BlockOps::setPlaces(linalg::LinalgOp op) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!written.contains(operand.get()))
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    if (op == product ? !op.isDpsInit(&operand) : !map.isPermutation())
      return false;
    SmallVector<unsigned> place;
    for (unsigned dim = 0; dim < map.getNumResults(); ++dim)
      place.push_back(loopsOf[op][map.getDimPosition(dim)]);
    if (places.try_emplace(operand.get(), place).first->second != place)
      return false;
  }
  return true;
}

/// From an operand whose places are known. False if there is none.
bool BlockOps::setLoops(linalg::LinalgOp op) {
  for (OpOperand &operand : op->getOpOperands()) {
    auto found = places.find(operand.get());
    AffineMap map = op.getMatchingIndexingMap(&operand);
    if (found == places.end() || !map.isPermutation())
      continue;
    SmallVector<unsigned> loops(op.getNumLoops());
    for (auto [dim, loop] : llvm::enumerate(found->second))
      loops[map.getDimPosition(dim)] = loop;
    loopsOf[op] = loops;
    return true;
  }
  return false;
}

static Value getBase(Value memory) {
  while (auto view = memory.getDefiningOp<ViewLikeOpInterface>())
    memory = view.getViewSource();
  return memory;
}

/// Whether no op reads or writes by another name what is written.
bool BlockOps::isWrittenOnlyByName() {
  llvm::DenseMap<Value, Value> names;
  for (Value memory : written)
    if (!names.try_emplace(getBase(memory), memory).second)
      return false;
  for (linalg::LinalgOp op : ops)
    for (Value operand : op->getOperands()) {
      auto found = names.find(getBase(operand));
      if (found != names.end() && found->second != operand)
        return false;
    }
  return true;
}

bool BlockOps::match() {
  for (linalg::LinalgOp op : ops) {
    if (!op.hasPureBufferSemantics())
      return false;
    if (op.getNumReductionLoops()) {
      if (product || !isForTensorCores(op))
        return false;
      product = op;
    }
    for (Value output : op.getDpsInits())
      written.insert(output);
  }
  if (!product || !isWrittenOnlyByName())
    return false;
  llvm::append_range(loopsOf[product],
                     llvm::seq<unsigned>(0, product.getNumLoops()));
  if (!setPlaces(product))
    return false;
  SmallVector<linalg::LinalgOp> left;
  llvm::copy_if(ops, std::back_inserter(left),
                [&](linalg::LinalgOp op) { return op != product; });
  while (!left.empty()) {
    auto next =
        llvm::find_if(left, [&](linalg::LinalgOp op) { return setLoops(op); });
    if (next == left.end() || !setPlaces(*next))
      return false;
    left.erase(next);
  }
  return true;
}

void BlockOps::erase(RewriterBase &rewriter) {
  for (linalg::LinalgOp op : ops)
    rewriter.eraseOp(op);
  for (Value memory : written)
    if (isOwn(memory)) {
      for (Operation *user : llvm::make_early_inc_range(memory.getUsers()))
        rewriter.eraseOp(user);
      rewriter.eraseOp(memory.getDefiningOp());
    }
}

//===----------------------------------------------------------------------===//
// The loops
//===----------------------------------------------------------------------===//

namespace {
/// Elements that a lane copies at a time, which are 16 bytes: a row of one of
/// the matrices of 8 x 8 that ldmatrix loads.
constexpr int64_t chunk = 8;
/// Rows and columns of a fragment, and steps of the reduction.
constexpr int64_t fragment = 16;
constexpr int64_t lanes = 32;

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
class SubgroupWriter {
public:
  SubgroupWriter(RewriterBase &b, BlockOps &block, Contraction &product,
                 Value thread, int64_t threads)
      : b(b), block(block), product(product), op(product.op), loc(op.getLoc()),
        thread(thread), threads(threads), indices(op.getNumLoops()) {}

  void write();

private:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubIOp::create(b, loc, x, y); }
  Value mul(Value x, int64_t y) {
    return arith::MulIOp::create(b, loc, x, index(y));
  }
  Value div(Value x, int64_t y) {
    return arith::DivUIOp::create(b, loc, x, index(y));
  }
  Value rem(Value x, int64_t y) {
    return arith::RemUIOp::create(b, loc, x, index(y));
  }
  Value min(Value x, Value y) { return arith::MinSIOp::create(b, loc, x, y); }
  Value less(Value x, Value y) {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, x, y);
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
  /// Opens a loop and returns its counter.
  Value open(Value to, int64_t step) {
    auto loop = scf::ForOp::create(b, loc, index(0), to, index(step));
    b.setInsertionPointToStart(loop.getBody());
    return loop.getInductionVar();
  }

  void chooseSizes();
  int64_t getStageBytes() { return (rows.size + columns.size) * steps * 2; }
  void setMemory();
  void setLanes();
  Value findAlignment(Side &side);
  /// Chunks side by side in a row of workgroup memory.
  int64_t getRowChunks(const Side &side) {
    return (side.isAlongReduction ? steps : side.size) / chunk;
  }
  Value getPlace(const Side &side, Value number, Value row);
  /// Places of a chunk in a stage, and of its first element in the operand.
  struct Chunk {
    Value row, column, place, step;
  };
  Chunk findChunk(Side &side, Value from, Value number);
  SmallVector<Value> getSource(Side &side, Value place, Value step);
  void copyChunk(Side &side, Value stage, Value from, Value number);
  void copyElements(Side &side, Value stage, Value from);
  void copyPieces(Value stage, Value from);
  SmallVector<Value> loadFragments(Side &side, Value stage, int64_t step);
  SmallVector<Value> loadFragments(Value stage, int64_t step);
  void multiply(ArrayRef<Value> fragments, MutableArrayRef<Value> sums);
  void waitForStage();
  SmallVector<Value> addUp();
  void finish(ArrayRef<Value> sums);
  void finishRows(int64_t from);
  /// What memory holds in the end, and where; null: it is there.
  struct Element {
    llvm::MapVector<Value, Value> values;
    llvm::DenseMap<Value, SmallVector<Value>> places;
    Value isThere;
  };
  Element finishElement(Value sum);

  RewriterBase &b;
  BlockOps &block;
  Contraction &product;
  linalg::LinalgOp op;
  Location loc;
  Value thread;
  int64_t threads;
  SmallVector<Value> sizes, indices;
  Side rows, columns;
  Value depth, lane, subgroup;
  bool isDepthWhole;
  /// Sums that the lanes hand to each other.
  Value exchange;
  /// Of the reduction, in a stage.
  int64_t steps, stages;
  /// Less than a block may have on any chip of these (sm_86 has 99 KiB).
  static constexpr int64_t mostBytes = 96 << 10;
};
} // namespace

void SubgroupWriter::chooseSizes() {
  auto bound = [&](unsigned loop) {
    int64_t most = findMostRounds(op, loop).value_or(128);
    return std::clamp<int64_t>(llvm::PowerOf2Ceil(most), fragment, 256);
  };
  rows.operand = product.rows;
  rows.loop = product.rowLoop;
  rows.size = bound(rows.loop);
  columns.operand = product.columns;
  columns.loop = product.columnLoop;
  columns.size = std::min(bound(columns.loop), 32768 / rows.size);
  // A fragment for each subgroup, and each subgroup's part as square as can be.
  const int64_t subgroups = threads / lanes;
  while (rows.size * columns.size < subgroups * fragment * fragment)
    columns.size *= 2;
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
  steps = 64;
  if (stages * getStageBytes() > mostBytes)
    steps = 32;
  if (!ShapedType::isDynamic(knownDepth))
    stages =
        std::clamp<int64_t>(llvm::divideCeil(knownDepth, steps), 2, stages);
  isDepthWhole = !ShapedType::isDynamic(knownDepth) && knownDepth % steps == 0;
}

/// Whether the lanes may copy whole chunks of the operand. What is known of its
/// strides is decided here.
Value SubgroupWriter::findAlignment(Side &side) {
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
void SubgroupWriter::setMemory() {
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
    side->memory = view({stages, side->isAlongReduction ? side->size : steps,
                         side->isAlongReduction ? steps : side->size},
                        product.getElementType(side->operand));
  most = std::max(most, used);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(block.launch);
  block.launch.getDynamicSharedMemorySizeMutable().assign(
      arith::ConstantIntOp::create(b, loc, most, 32));
}

/// Each lane says where one row of a matrix is; the four matrices of a fragment
/// of rows are below each other first, those of columns behind each other.
void SubgroupWriter::setLanes() {
  lane = rem(thread, lanes);
  subgroup = div(thread, lanes);
  rows.first = mul(div(subgroup, columns.subgroups), rows.getOwn());
  columns.first = mul(rem(subgroup, columns.subgroups), columns.getOwn());
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

/// Where chunk `number` of a row is. Chunks change places, so that of eight
/// rows that follow each other the same chunk is in different banks. `row` may
/// be less by a multiple of 16.
Value SubgroupWriter::getPlace(const Side &side, Value number, Value row) {
  int64_t count = getRowChunks(side), turns = std::min(count, chunk);
  Value twist = rem(div(row, chunk / turns), turns);
  return mul(arith::XOrIOp::create(b, loc, number, twist), chunk);
}

/// Places of chunk `number` of the steps from `from` on.
SubgroupWriter::Chunk SubgroupWriter::findChunk(Side &side, Value from,
                                                Value number) {
  const int64_t count = getRowChunks(side);
  Value row = div(number, count), inner = rem(number, count);
  Chunk result;
  result.row = row;
  result.column = getPlace(side, inner, row);
  inner = mul(inner, chunk);
  result.place = add(side.from, side.isAlongReduction ? row : inner);
  result.step = add(from, side.isAlongReduction ? inner : row);
  return result;
}

/// Where an element of the operand is.
SmallVector<Value> SubgroupWriter::getSource(Side &side, Value place,
                                             Value step) {
  indices[side.loop] = place;
  setIndices(b, loc, step, product.reductionLoops, sizes, indices);
  return product.getPlace(b, side.operand, indices);
}

/// The copy is waited for later. Behind the last row, column or step are zeros.
void SubgroupWriter::copyChunk(Side &side, Value stage, Value from,
                               Value number) {
  OpBuilder::InsertionGuard guard(b);
  if (const int64_t all = side.size * steps / chunk; all < threads)
    open(less(number, index(all)));
  Chunk at = findChunk(side, from, number);
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
      b, loc, side.memory, ValueRange{stage, at.row, at.column},
      side.operand->get(), getSource(side, at.place, at.step),
      b.getIndexAttr(chunk), valid, b.getUnitAttr());
}

/// The same of all of the thread's chunks, element by element.
void SubgroupWriter::copyElements(Side &side, Value stage, Value from) {
  OpBuilder::InsertionGuard guard(b);
  auto loop = scf::ForOp::create(
      b, loc, thread, index(side.size * steps / chunk), index(threads));
  b.setInsertionPointToStart(loop.getBody());
  Chunk at = findChunk(side, from, loop.getInductionVar());
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
  vector::StoreOp::create(b, loc, whole, side.memory,
                          ValueRange{stage, at.row, at.column});
}

/// The steps from `from` on, if there are any.
void SubgroupWriter::copyPieces(Value stage, Value from) {
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
SmallVector<Value> SubgroupWriter::loadFragments(Side &side, Value stage,
                                                 int64_t step) {
  Type type = product.getElementType(side.operand);
  SmallVector<Value> registers;
  for (int64_t i = 0; i < side.getOwn(); i += fragment) {
    Value place = add(add(side.first, index(i)), side.laneSide);
    Value ownStep = add(index(step), side.laneStep);
    Value row = side.isAlongReduction ? place : ownStep;
    Value inner = side.isAlongReduction ? ownStep : place;
    Value laneRow = side.isAlongReduction ? side.laneSide : side.laneStep;
    Value loaded = nvgpu::LdMatrixOp::create(
        b, loc, VectorType::get({4, 2}, type), side.memory,
        ValueRange{stage, row, getPlace(side, div(inner, chunk), laneRow)},
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
SmallVector<Value> SubgroupWriter::loadFragments(Value stage, int64_t step) {
  SmallVector<Value> registers = loadFragments(rows, stage, step);
  llvm::append_range(registers, loadFragments(columns, stage, step));
  return registers;
}

void SubgroupWriter::multiply(ArrayRef<Value> fragments,
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
SmallVector<Value> SubgroupWriter::addUp() {
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(b.getF32Type()));
  SmallVector<Value> sums(rows.getOwn() * columns.getOwn() / lanes, zero);
  {
    OpBuilder::InsertionGuard guard(b);
    Value stage = open(index(stages - 1), 1);
    copyPieces(stage, mul(stage, steps));
  }
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
    copyPieces(rem(add(round, index(stages - 1)), stages),
               add(from, index((stages - 1) * steps)));
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

/// The next one is there, and nobody reads the one before it.
void SubgroupWriter::waitForStage() {
  NVVM::CpAsyncWaitGroupOp::create(b, loc, stages - 2);
  gpu::BarrierOp::create(b, loc);
}

/// All that the block does with an element, at the indices, but for storing
/// what it comes to.
SubgroupWriter::Element SubgroupWriter::finishElement(Value sum) {
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
void SubgroupWriter::finishRows(int64_t from) {
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
void SubgroupWriter::finish(ArrayRef<Value> sums) {
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

void SubgroupWriter::write() {
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
  finish(addUp());
  // The next tile's pieces go where these sums are.
  gpu::BarrierOp::create(b, loc);
}

bool offload::contractByTensorCores(RewriterBase &rewriter,
                                    gpu::LaunchOp launch,
                                    ArrayRef<linalg::LinalgOp> ops,
                                    Value thread, int64_t threads) {
  BlockOps block(launch, ops);
  if (!block.match())
    return false;
  Contraction product = *Contraction::match(block.product);
  rewriter.setInsertionPointAfter(ops.back());
  SubgroupWriter(rewriter, block, product, thread, threads).write();
  block.erase(rewriter);
  return true;
}
