//===- Schedule.cpp - how work is cut into blocks -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Schedule.h.
//===----------------------------------------------------------------------===//

#include "Schedule.h"

#include "BodyEffects.h"
#include "Contraction.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/LinalgInterfaces.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/CheckedArithmetic.h"

#include <cmath>

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::offload;

/// Products that are worth a block of their own.
static constexpr double productWork = 1 << 20;

Schedule Schedule::get(OffloadDevice device) {
  // On a CPU a tile stays in the cache, and on stacks of a megabyte, as threads
  // of callers have. A GPU's products and reductions have the rest.
  if (device == OffloadDevice::CPU)
    return {/*threads=*/1,
            /*elements=*/16384,
            /*rowElements=*/16384,
            /*oneBlock=*/16384,
            /*contraction=*/128,
            /*memory=*/cpuKernelMemory,
            /*kept=*/cpuKernelMemory.privateBytes / 8,
            /*scratch=*/cpuKernelMemory.privateBytes / 16,
            /*blocks=*/1,
            /*productBlocks=*/8,
            /*partElements=*/65536,
            /*partResults=*/64,
            /*parts=*/64};
  return {/*threads=*/256,
          /*elements=*/2048,
          /*rowElements=*/4096,
          /*oneBlock=*/4096,
          /*contraction=*/128,
          /*memory=*/nvptxKernelMemory,
          /*kept=*/nvptxKernelMemory.workgroupBytes - (20 << 10),
          /*scratch=*/nvptxKernelMemory.workgroupBytes - (20 << 10),
          /*blocks=*/128,
          /*productBlocks=*/128,
          /*partElements=*/16384,
          /*partResults=*/64,
          /*parts=*/1024,
          /*hasTensorCores=*/device != OffloadDevice::GPU,
          /*hasWarpgroups=*/device == OffloadDevice::SM90};
}

SmallVector<Attribute> offload::mapToBlocks(MLIRContext *context,
                                            size_t loops) {
  SmallVector<Attribute> mapping;
  for (size_t loop = 0; loop < loops; ++loop)
    mapping.push_back(gpu::GPUBlockMappingAttr::get(
        context, gpu::MappingId(unsigned(gpu::MappingId::LinearDim0) + loop)));
  return mapping;
}

std::optional<int64_t> offload::countElements(ArrayRef<int64_t> sizes) {
  std::optional<int64_t> count = 1;
  for (int64_t size : sizes) {
    if (ShapedType::isDynamic(size))
      return std::nullopt;
    count = count ? llvm::checkedMul(*count, size) : std::nullopt;
  }
  return count;
}

std::optional<int64_t> offload::getElementBytes(Type type) {
  if (type.isIntOrFloat())
    return llvm::divideCeil(type.getIntOrFloatBitWidth(), 8);
  if (type.isIndex())
    return 8;
  if (auto complex = dyn_cast<ComplexType>(type)) {
    std::optional<int64_t> bytes = getElementBytes(complex.getElementType());
    return bytes ? std::optional(2 * *bytes) : std::nullopt;
  }
  if (auto vector = dyn_cast<VectorType>(type); vector && !vector.isScalable())
    return getBytes(vector);
  return std::nullopt;
}

std::optional<int64_t> offload::getBytes(ShapedType type) {
  std::optional<int64_t> element = getElementBytes(type.getElementType()),
                         count = countElements(type.getShape());
  return element && count ? llvm::checkedMul(*element, *count) : std::nullopt;
}

bool offload::hasSmallElements(linalg::LinalgOp op) {
  return llvm::all_of(op->getOperandTypes(), [](Type type) {
    std::optional<int64_t> bytes = getElementBytes(getElementTypeOrSelf(type));
    return bytes && *bytes <= 2;
  });
}

std::optional<Crossing> offload::findCrossing(linalg::LinalgOp op) {
  auto findLast = [](AffineMap map) -> std::optional<unsigned> {
    if (!map.getNumResults())
      return std::nullopt;
    auto dim = dyn_cast<AffineDimExpr>(map.getResults().back());
    return dim ? std::optional(dim.getPosition()) : std::nullopt;
  };
  // An op that only asserts or stores has no output.
  if (!op.getNumDpsInits() || op.getNumReductionLoops())
    return std::nullopt;
  std::optional<unsigned> column =
      findLast(op.getMatchingIndexingMap(op.getDpsInitOperand(0)));
  if (!column)
    return std::nullopt;
  for (OpOperand *input : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(input);
    std::optional<unsigned> row = findLast(map);
    if (row && row != column && map.isFunctionOfDim(*column))
      return Crossing{*row, *column};
  }
  return std::nullopt;
}

/// Whether the elements of both factors have four bytes.
static bool hasWords(linalg::LinalgOp product) {
  return llvm::all_of(product.getDpsInputs(), [](Value input) {
    return getElementBytes(getElementTypeOrSelf(input)) == 4;
  });
}

/// Whether the first input of a contraction has the loop, and the second one.
static std::pair<bool, bool> findInputs(linalg::LinalgOp op, unsigned loop) {
  auto has = [&](unsigned input) {
    return op.getMatchingIndexingMap(op.getDpsInputOperand(input))
        .isFunctionOfDim(loop);
  };
  return {has(0), has(1)};
}

SmallVector<unsigned> offload::findResultLoops(linalg::LinalgOp contraction) {
  SmallVector<unsigned> loops;
  contraction.getParallelDims(loops);
  llvm::erase_if(loops, [&](unsigned loop) {
    auto [first, second] = findInputs(contraction, loop);
    return first == second;
  });
  return loops;
}

/// One that uses each element once is a reduction like others.
bool offload::isContraction(linalg::LinalgOp op) {
  if (!op.getNumReductionLoops() || !isPureBody(op) ||
      (!linalg::isaContractionOpInterface(op) && !Contraction::match(op)))
    return false;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  return llvm::any_of(findResultLoops(op),
                      [&](unsigned loop) { return sizes[loop] != 1; });
}

bool offload::isVectorProduct(linalg::LinalgOp contraction) {
  SmallVector<int64_t> sizes = contraction.getStaticLoopRanges();
  bool hasRows = false, hasColumns = false;
  for (unsigned loop : findResultLoops(contraction))
    if (sizes[loop] != 1)
      (findInputs(contraction, loop).first ? hasRows : hasColumns) = true;
  return !(hasRows && hasColumns);
}

/// The parallel loop along which the input of most dimensions lies in memory;
/// none if a reduction loop does.
static std::optional<unsigned> findColumns(linalg::LinalgOp op) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  SmallVector<AffineExpr> widest;
  for (OpOperand *input : op.getDpsInputOperands()) {
    SmallVector<AffineExpr> places =
        llvm::to_vector(op.getMatchingIndexingMap(input).getResults());
    llvm::erase_if(places, [&](AffineExpr place) {
      auto dim = dyn_cast<AffineDimExpr>(place);
      return dim && sizes[dim.getPosition()] == 1;
    });
    if (places.size() > widest.size())
      widest = places;
  }
  if (widest.empty())
    return std::nullopt;
  auto last = dyn_cast<AffineDimExpr>(widest.back());
  if (!last || op.getIteratorTypesArray()[last.getPosition()] !=
                   utils::IteratorType::parallel)
    return std::nullopt;
  return last.getPosition();
}

void Schedule::fit(const llvm::BitVector &tileable, int64_t bytes,
                   MutableArrayRef<int64_t> tile) const {
  const int64_t most = std::max<int64_t>(kept / std::max<int64_t>(bytes, 1), 1);
  while (true) {
    // A double, since sizes may multiply to more than an integer holds.
    double elements = 1;
    unsigned longest = 0;
    for (unsigned loop : tileable.set_bits()) {
      elements *= tile[loop];
      if (tile[loop] > tile[longest] || !tileable.test(longest))
        longest = loop;
    }
    if (elements <= most)
      return;
    tile[longest] = llvm::divideCeil(tile[longest], 2);
  }
}

/// A thread packs columns for the rows of its block: the more rows, the less
/// that costs. Columns it takes from the nearest cache, a few vectors at a
/// time.
void Schedule::chooseOneThreads(ArrayRef<int64_t> sizes, ArrayRef<unsigned> cut,
                                ArrayRef<unsigned> moreRows, double others,
                                double steps,
                                MutableArrayRef<int64_t> tile) const {
  if (cut.empty())
    return;
  auto isKnown = [&](unsigned loop) {
    return !ShapedType::isDynamic(sizes[loop]);
  };
  auto count = [&](unsigned loop) {
    return isKnown(loop) ? llvm::divideCeil(sizes[loop], tile[loop])
                         : int64_t(1);
  };
  const unsigned columns = cut.back();
  tile[columns] = contraction / 2;
  if (isKnown(columns))
    tile[columns] = std::min(tile[columns], sizes[columns]);
  // Tiles of about the same length, of whole rows of registers.
  auto share = [&](unsigned loop, int64_t most) {
    if (!isKnown(loop))
      return most;
    int64_t even =
        llvm::divideCeil(sizes[loop], llvm::divideCeil(sizes[loop], most));
    return std::min<int64_t>(
        {int64_t(llvm::alignTo(even, 8)), sizes[loop], most});
  };
  SmallVector<unsigned> rows;
  if (cut.size() == 2)
    rows.push_back(cut.front());
  llvm::append_range(rows, moreRows);
  for (unsigned loop : moreRows)
    others /= isKnown(loop) ? sizes[loop] : 1;
  // Fewer rows where there would be too few blocks, and each has long work.
  for (int64_t most = contraction;; most /= 2) {
    int64_t left = most;
    double blocks = others * count(columns);
    double products = steps * tile[columns];
    for (unsigned loop : rows) {
      tile[loop] = isKnown(loop) || loop == rows.front()
                       ? std::max<int64_t>(share(loop, left), 1)
                       : 1;
      left /= tile[loop];
      blocks *= count(loop);
      products *= tile[loop];
    }
    if (blocks >= productBlocks || products < productWork || most <= 16)
      return;
  }
}

/// Each element of the matrix is read once: blocks are as large as its memory
/// is read fast. The other loops are cut into single rounds where the results
/// of one are enough for a block.
void Schedule::chooseVector(ArrayRef<int64_t> sizes,
                            const llvm::BitVector &tileable,
                            ArrayRef<unsigned> cut, linalg::LinalgOp product,
                            MutableArrayRef<int64_t> tile) const {
  // Doubles, since sizes may multiply to more than an integer holds. How long a
  // loop is taken to be if that is not known.
  constexpr double usualRounds = 4096;
  auto count = [&](int64_t size) {
    return ShapedType::isDynamic(size) ? usualRounds : double(size);
  };
  double results = 1, steps = 1;
  for (unsigned loop : tileable.set_bits())
    results *= count(sizes[loop]);
  for (auto [kind, size] : llvm::zip(product.getIteratorTypesArray(),
                                     product.getStaticLoopRanges()))
    if (kind == utils::IteratorType::reduction)
      steps *= std::max(count(size), 1.);
  int64_t left;
  if (threads > 1) {
    // A sector of memory for each row of the matrix, or for each result. The
    // threads share the steps, of which each has one at least: else it has a
    // result of its own.
    // Threads of a result read side by side where its row does.
    left = results < 32 * blocks || !findColumns(product) ? 8 : 32;
    while (left < threads && left * steps < threads)
      left *= 2;
    if (left > threads / 4)
      left = threads;
  } else if (findColumns(product)) {
    // Some pages of each row, if there are so many, in whole cache lines.
    left = llvm::alignTo(
        uint64_t(std::clamp<double>(results / productBlocks, contraction,
                                    16 * contraction)),
        16);
  } else {
    left = std::clamp<double>(results / productBlocks,
                              std::max(productWork / 64 / steps, 16.),
                              std::max(productWork / 16 / steps, 16.));
  }
  auto take = [&](unsigned loop) {
    tile[loop] =
        ShapedType::isDynamic(sizes[loop])
            ? left
            : std::clamp<int64_t>(left, 1, std::max<int64_t>(sizes[loop], 1));
    left /= tile[loop];
  };
  for (unsigned loop : llvm::reverse(cut))
    take(loop);
  for (int loop = tileable.find_last(); loop >= 0;
       loop = tileable.find_prev(loop))
    if (!llvm::is_contained(cut, loop))
      take(loop);
}

/// Pieces of about the same length: no remainder, if there is such.
static int64_t shareOut(int64_t size, int64_t most) {
  int64_t even = llvm::divideCeil(size, llvm::divideCeil(size, most));
  return std::min<int64_t>(llvm::alignTo(even, 4), std::min(size, most));
}

/// Nanoseconds that `count` tiles of so many rows, columns and steps take an
/// H200, of 32 bit numbers, with copies behind the threads' back.
double Schedule::estimateProduct(double rows, double columns, double count,
                                 double steps) const {
  // Products of a processor in a nanosecond, and the share of it that blocks
  // reach: small ones load more for a product, and one alone waits for memory
  // and barriers.
  constexpr double processors = 132, most = 128 * 1.85;
  const double results = rows * columns, loaded = rows + columns;
  const double shares[] = {0.2, 0.38, 0.48, 0.6, 0.56, 0.68};
  const double leastReuse[] = {0, 16, 21, 32, 42, 64};
  double share = 0;
  for (auto [each, reuse] : llvm::zip(shares, leastReuse))
    if (results / loaded >= reuse)
      share = each;
  const double each = std::ceil(count / processors);
  if (each == 1)
    share *= 0.83;
  // Beginning and end of a kernel, and of a block.
  constexpr double kernel = 4500, block = 1500;
  return kernel + each * (block + results * steps / (most * share));
}

/// Rows and columns of a tile of at most `most` results, and the time that all
/// take.
std::pair<int64_t, int64_t>
Schedule::chooseForThreads(int64_t rows, int64_t columns, double others,
                           double steps, int64_t most, double *time) const {
  std::pair<int64_t, int64_t> best{16, 16};
  double least = HUGE_VAL;
  for (int64_t down = contraction; down >= 16; down /= 2)
    for (int64_t across = contraction; across >= 16; across /= 2) {
      const int64_t high = shareOut(rows, down),
                    wide = shareOut(columns, across);
      const double count = others * llvm::divideCeil(rows, high) *
                           llvm::divideCeil(columns, wide);
      // Tiles are computed in powers of two.
      const double now = estimateProduct(
          llvm::PowerOf2Ceil(high), llvm::PowerOf2Ceil(wide), count, steps);
      if (now < least &&
          (high * wide <= most || (down == 16 && across == 16))) {
        least = now;
        best = {high, wide};
      }
    }
  if (time)
    *time = least;
  return best;
}

/// Rows and columns are cut into tiles, the others into single rounds.
void Schedule::chooseContraction(ArrayRef<int64_t> sizes,
                                 const llvm::BitVector &tileable,
                                 ArrayRef<unsigned> cut,
                                 ArrayRef<unsigned> moreRows, double steps,
                                 int64_t bytes, bool isWord,
                                 MutableArrayRef<int64_t> tile) const {
  double others = 1;
  for (unsigned loop : tileable.set_bits())
    if (!llvm::is_contained(cut, loop)) {
      tile[loop] = 1;
      others *= ShapedType::isDynamic(sizes[loop]) ? 1 : sizes[loop];
    }
  auto isLong = [&](unsigned loop, int64_t size) {
    return ShapedType::isDynamic(sizes[loop]) || sizes[loop] > size;
  };
  bool isKnown = llvm::none_of(
      cut, [&](unsigned loop) { return ShapedType::isDynamic(sizes[loop]); });
  auto set = [&](ArrayRef<int64_t> lengths) {
    for (auto [loop, length] : llvm::zip(cut, lengths))
      tile[loop] = isLong(loop, length) ? length : sizes[loop];
  };
  // What is kept of a tile, for what follows, is in the block's memory.
  auto fits = [&](int64_t down, int64_t across) {
    return down * across * bytes <= 16 << 10;
  };
  if (threads == 1)
    return chooseOneThreads(sizes, cut, moreRows, others, steps, tile);
  if (cut.empty())
    return;
  if (!isKnown) {
    int64_t size = contraction / 2;
    while (size > 16 && !fits(size, size))
      size /= 2;
    return set({size, size});
  }
  const int64_t allRows = cut.size() == 2 ? sizes[cut.front()] : 1;
  const int64_t allColumns = sizes[cut.back()];
  if (isWord && hasTensorCores && cut.size() == 2) {
    const int64_t most = bytes ? (16 << 10) / bytes : INT64_MAX;
    auto [rows, columns] =
        chooseForThreads(allRows, allColumns, others, steps, most);
    return set({rows, columns});
  }
  // Time of a step of the reduction on each of the device's processors: loads
  // of the operands from workgroup memory, or the products, and a share of what
  // it takes to get the operands there; rows come in longer pieces. In 32nds.
  double least = HUGE_VAL;
  for (int64_t down = contraction; down >= 16; down /= 2)
    for (int64_t across = contraction; across >= 16; across /= 2) {
      int64_t rows = shareOut(allRows, down);
      int64_t columns = shareOut(allColumns, across);
      double count = others * llvm::divideCeil(allRows, rows) *
                     llvm::divideCeil(allColumns, columns);
      double time =
          std::ceil(count / blocks) *
          (std::max<int64_t>(512, rows * columns / 4) + rows + 4 * columns);
      bool isSmallest = down == 16 && across == 16;
      if (time < least && (fits(rows, columns) || isSmallest)) {
        least = time;
        if (cut.size() == 2)
          set({rows, columns});
        else
          set({columns});
      }
    }
}

/// Rows and columns of a tile. Those of a known length are cut into powers of
/// two, a fragment of 16 x 16 at least for each subgroup.
std::pair<int64_t, int64_t>
Schedule::chooseForTensorCores(int64_t rows, int64_t columns,
                               double others) const {
  if (ShapedType::isDynamic(rows) || ShapedType::isDynamic(columns))
    return {128, 128};
  const int64_t least = threads / 32 * 256;
  std::pair<int64_t, int64_t> best;
  double shortest = HUGE_VAL;
  for (int64_t down = 256; down >= 16; down /= 2)
    for (int64_t across = 256; across >= 16; across /= 2) {
      if (down * across < least || down * across > 128 * 256 ||
          (hasWarpgroups && down > 128))
        continue;
      double count = others * llvm::divideCeil(rows, down) *
                     llvm::divideCeil(columns, across);
      // Cycles of 16 steps of the reduction, on each of the device's
      // processors: of the products, or of the operands' way into workgroup
      // memory, and what it takes to begin.
      const bool isByWarpgroups =
          hasWarpgroups && down >= 64 && down * across >= 2 * 64 * 64;
      double time = std::ceil(count / blocks) *
                    (std::max(down * across / (isByWarpgroups ? 115. : 80.),
                              (down + across) * 0.8) +
                     32);
      if (time < shortest) {
        shortest = time;
        best = {down, across};
      }
    }
  return best;
}

/// Whether `loop` goes along memory in all that a block reads whole rounds of;
/// `butShared`: but for what is the same for all rounds of `loop`.
static bool goesAlong(linalg::LinalgOp op, unsigned loop,
                      const llvm::BitVector &tileable, bool butShared = false) {
  bool isAny = false;
  for (OpOperand *input : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(input);
    auto isWhole = [&](AffineExpr result) {
      auto dim = dyn_cast<AffineDimExpr>(result);
      return !dim || !tileable.test(dim.getPosition());
    };
    if (llvm::none_of(map.getResults(), isWhole) ||
        (butShared && !map.isFunctionOfDim(loop)))
      continue;
    if (map.getResults().back() != getAffineDimExpr(loop, op.getContext()))
      return false;
    isAny = true;
  }
  return isAny;
}

SmallVector<int64_t>
Schedule::chooseTile(linalg::LinalgOp op, const llvm::BitVector &tileable,
                     bool isRow, int64_t rowBytes, linalg::LinalgOp product,
                     ArrayRef<unsigned> cut, ArrayRef<unsigned> moreRows,
                     bool isForTensorCores) const {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  SmallVector<int64_t> tile(sizes.size(), 0);
  if (product && isForTensorCores) {
    double others = 1;
    for (unsigned loop : tileable.set_bits()) {
      tile[loop] = 1;
      if (!llvm::is_contained(cut, loop) && !ShapedType::isDynamic(sizes[loop]))
        others *= sizes[loop];
    }
    std::tie(tile[cut[0]], tile[cut[1]]) =
        chooseForTensorCores(sizes[cut[0]], sizes[cut[1]], others);
    return tile;
  }
  if (product) {
    double steps = 1;
    for (auto [kind, size] : llvm::zip(product.getIteratorTypesArray(),
                                       product.getStaticLoopRanges()))
      if (kind == utils::IteratorType::reduction &&
          !ShapedType::isDynamic(size))
        steps *= size;
    if (isVectorProduct(product))
      chooseVector(sizes, tileable, cut, product, tile);
    else
      chooseContraction(sizes, tileable, cut, moreRows, steps, rowBytes,
                        hasWords(product), tile);
    fit(tileable, rowBytes, tile);
    return tile;
  }
  // As many elements as a block may have, from the innermost loop on: what a
  // row needs counts for each.
  int64_t left = isRow ? rowElements : elements;
  double row = 1;
  SmallVector<int64_t> lengths;
  // A thread's elements are as many bytes of small types.
  if (threads > 1 && !isRow && hasSmallElements(op))
    left *= 2;
  for (auto [loop, size] : llvm::enumerate(sizes)) {
    if (tileable.test(loop))
      lengths.push_back(size);
    else if (isRow) {
      left = ShapedType::isDynamic(size)
                 ? 1
                 : std::max<int64_t>(left / std::max<int64_t>(size, 1), 1);
      row *= ShapedType::isDynamic(size) ? rowElements : size;
    }
  }
  // Several threads of a block share a row, unless it is short and read once,
  // and all of the device has work.
  const int64_t mostRows = row < 4 && rowBytes == 0 ? threads : threads / 4;
  if (threads > 1 && isRow)
    left = std::min({left, mostRows, kept / std::max<int64_t>(rowBytes, 1)});
  std::optional<int64_t> results = countElements(lengths);
  if (threads > 1 && results)
    left = std::min(left, std::max(*results / blocks, isRow ? 1 : threads));
  left = std::max<int64_t>(left, 1);
  const int last = tileable.find_last();
  const bool isColumn =
      isRow && last >= 0 &&
      (goesAlong(op, last, tileable) ||
       (op.getNumReductionLoops() && findColumns(op) == unsigned(last)));
  // Columns that share a sector of memory, or a line of it where that still
  // leaves several blocks for each of the device's processors.
  if (threads > 1 && isColumn)
    left = std::clamp<int64_t>(
        kept / std::max<int64_t>(rowBytes, 1), 1,
        std::max<int64_t>(left,
                          results && *results < 4 * 32 * blocks ? 8 : 32));
  if (threads > 1)
    left = llvm::bit_floor(uint64_t(left));
  if (threads == 1 && isRow) {
    // Of columns some lines of memory next to each other, whole vectors.
    if (isColumn)
      left = std::max<int64_t>(left, 128);
    left = std::clamp<int64_t>(kept / std::max<int64_t>(rowBytes, 1), 1, left);
    if (isColumn)
      left = llvm::bit_floor(uint64_t(left));
  }
  auto take = [&](unsigned loop, int64_t most) {
    int64_t size = ShapedType::isDynamic(sizes[loop]) ? most : sizes[loop];
    tile[loop] = std::max<int64_t>(std::min(size, most), 1);
    left /= tile[loop];
  };
  // Pieces of both sides, rows of 128 bytes and more if the elements have four.
  if (std::optional<Crossing> crossing = findCrossing(op);
      crossing && threads > 1 && !isRow && tileable.test(crossing->row) &&
      tileable.test(crossing->column)) {
    take(crossing->row, std::min<int64_t>(left, 32));
    take(crossing->column, left);
  }
  for (int loop = tileable.find_last(); loop >= 0;
       loop = tileable.find_prev(loop))
    if (!tile[loop])
      take(loop, left);
  fit(tileable, rowBytes, tile);
  return tile;
}

/// Whether each round of the loop reads other elements than the others: the
/// loop goes over no windows that overlap.
static bool goesOverWholePieces(linalg::LinalgOp op, unsigned loop) {
  return llvm::all_of(op.getIndexingMapsArray(), [&](AffineMap map) {
    return llvm::all_of(map.getResults(), [&](AffineExpr result) {
      return !result.isFunctionOfDim(loop) || isa<AffineDimExpr>(result);
    });
  });
}

SmallVector<int64_t> Schedule::chooseParts(linalg::LinalgOp op,
                                           bool isInOrder) const {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  SmallVector<unsigned> loops;
  op.getReductionDims(loops);
  // Doubles, since sizes may multiply to more than an integer holds.
  double results = 1, elements = 1;
  for (auto [loop, size] : llvm::enumerate(sizes)) {
    if (ShapedType::isDynamic(size))
      return {};
    (llvm::is_contained(loops, loop) ? elements : results) *= size;
  }
  // Columns of memory may be more: blocks read whole lines of it, and sums of
  // fewer elements lose fewer digits.
  constexpr double mostColumns = 256, columnElements = 8192;
  llvm::BitVector others(sizes.size(), true);
  for (unsigned loop : loops)
    others.reset(loop);
  const int last = others.find_last();
  const bool areColumns =
      threads == 1 && last >= 0 && goesAlong(op, last, others);
  // Threads side by side have results side by side, so a block has several.
  double blocks = results;
  for (unsigned loop : others.set_bits())
    if (threads > 1 && goesAlong(op, loop, others, /*butShared=*/true)) {
      blocks = results / std::min<int64_t>(sizes[loop], 8);
      break;
    }
  // Threads side by side read places that are far apart, and each compares one
  // element after the other.
  const double ofPart =
      isInOrder && threads > 1 ? partElements / 4 : partElements;
  if (blocks > (areColumns ? mostColumns : partResults) ||
      elements * results < 2 * ofPart)
    return {};
  // From the outermost loop on, so that parts are whole pieces of memory.
  int64_t left = std::min<double>(
      parts, elements * results / (areColumns ? columnElements : ofPart));
  SmallVector<int64_t> tile(sizes.size(), 0);
  bool isCut = false;
  for (unsigned loop : loops) {
    if (left < 2)
      break;
    if (!goesOverWholePieces(op, loop))
      continue;
    tile[loop] = llvm::divideCeil(sizes[loop], std::min(left, sizes[loop]));
    left /= llvm::divideCeil(sizes[loop], tile[loop]);
    isCut = true;
  }
  return isCut ? tile : SmallVector<int64_t>();
}

/// Chooses the parts of a product of 32 bit numbers whose tiles are done first.
/// `kernel` is the time of one more kernel, `part` that of a part's sums.
int64_t Schedule::chooseWordParts(const Contraction &matrix,
                                  ArrayRef<int64_t> sizes, unsigned steps,
                                  double kernel, double part) const {
  constexpr int64_t mostParts = 16, leastSteps = 128;
  const int64_t rows = sizes[matrix.rowLoop],
                columns = sizes[matrix.columnLoop], depth = sizes[steps];
  double others = 1;
  for (auto [loop, size] : llvm::enumerate(sizes))
    if (!llvm::is_contained({matrix.rowLoop, matrix.columnLoop, steps}, loop))
      others *= size;
  int64_t best = 1;
  double least = HUGE_VAL;
  const bool isUneven =
      llvm::all_of(llvm::seq<int64_t>(2, mostParts + 1),
                   [&](int64_t count) { return depth % count != 0; });
  for (int64_t count = 1; count <= mostParts; ++count) {
    if (count > 1 && depth / count < leastSteps)
      break;
    if (depth % count && !isUneven)
      continue;
    double time;
    chooseForThreads(rows, columns, others * count, double(depth) / count,
                     INT64_MAX, &time);
    // Parts have to gain what the estimate may be off by. Steps that are left
    // over are one more product.
    if (count > 1)
      time = 1.1 * time + kernel * (isUneven ? 3 : 1) + count * part;
    if (time < least) {
      least = time;
      best = count;
    }
  }
  return best;
}

int64_t Schedule::chooseProductParts(linalg::LinalgOp product,
                                     unsigned steps) const {
  SmallVector<int64_t> sizes = product.getStaticLoopRanges();
  if (threads == 1 || llvm::is_contained(sizes, ShapedType::kDynamic))
    return 1;
  double sums = 1;
  for (auto [loop, size] : llvm::enumerate(sizes))
    if (loop != steps)
      sums *= size;
  // Times of one more kernel, and of a part's sums, which are written and read.
  constexpr double kernel = 2200;
  const double part = sums * 8 / 3000;
  // Blocks there are, and that keep the device busy; nanoseconds of a step, as
  // on an H200.
  double tiles, wanted, step;
  std::optional<Contraction> matrix = Contraction::match(product);
  if (!matrix) {
    // A vector's product: a block has 32 results, and each element is loaded
    // once, which takes more blocks.
    tiles = sums / 32;
    wanted = 4 * blocks;
    step = 1.1;
  } else if (hasTensorCores && isForTensorCores(product)) {
    tiles = sums / sizes[matrix->rowLoop] / sizes[matrix->columnLoop];
    for (unsigned loop : {matrix->rowLoop, matrix->columnLoop})
      tiles *= llvm::divideCeil(sizes[loop], 128);
    wanted = blocks;
    step = 5.6;
  } else if (hasTensorCores && hasWords(product)) {
    return chooseWordParts(*matrix, sizes, steps, kernel, part / 3);
  } else {
    return 1;
  }
  int64_t best = 1;
  double mostGain = 1000;
  for (int64_t count = 2;
       count <= 16 && count * tiles <= wanted && sizes[steps] % count == 0;
       count *= 2) {
    double gain =
        step * (sizes[steps] - sizes[steps] / count) - kernel - count * part;
    if (gain > mostGain) {
      mostGain = gain;
      best = count;
    }
  }
  return best;
}
