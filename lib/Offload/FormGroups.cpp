//===- FormGroups.cpp - linalg ops that share tiles -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which linalg ops become one kernel: the last one, its root, and what only the
// group uses, as far as no tile of the root needs another tile of these.
//===----------------------------------------------------------------------===//

#include "ApartProducts.h"
#include "BodyEffects.h"
#include "Contraction.h"
#include "GPUAsync/Decision.h"
#include "GPUAsync/Offload/Passes.h"
#include "KernelNames.h"
#include "OutputMaps.h"
#include "Product.h"
#include "Schedule.h"
#include "Tile.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCFORMGROUPS
#include "GPUAsync/Offload/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::offload;

namespace {
/// Linalg ops that are one kernel. In terms of the root's loops.
class Group {
public:
  Group(linalg::LinalgOp root, const Schedule &schedule)
      : root(root), schedule(schedule), tileable(root.getNumLoops()) {
    SmallVector<unsigned> parallel;
    root.getParallelDims(parallel);
    for (unsigned loop : parallel)
      tileable.set(loop);
    SmallVector<int> own(root.getNumLoops());
    std::iota(own.begin(), own.end(), 0);
    loopsOf[root] = std::move(own);
    copiesOf[root] = 1;
    if (isContraction(root))
      contraction = root;
    hasReduction = root.getNumReductionLoops() > 0 && !contraction;
    members.push_back(root);
  }

  /// Takes the op in, if tiles of the root need the same tiles of it only.
  bool add(linalg::LinalgOp op);
  bool contains(Operation *op) const { return loopsOf.contains(op); }
  SmallVector<int64_t> chooseTile();
  std::string getName() const {
    return nameKernel(llvm::to_vector(llvm::reverse(members)));
  }

  linalg::LinalgOp root;
  /// The last one first.
  SmallVector<linalg::LinalgOp> members;

private:
  /// Bytes that a block keeps for each result if these of the root's loops are
  /// cut; nothing if they are not known.
  std::optional<int64_t> countKept(const llvm::BitVector &cut);
  SmallVector<unsigned> findRowsAndColumns();
  SmallVector<unsigned> findMoreRows();
  /// Whether a block computes the op about as fast as several do.
  bool isSmall(linalg::LinalgOp op) {
    std::optional<int64_t> count = countElements(op.getStaticLoopRanges());
    return count && *count <= schedule.oneBlock;
  }
  bool isForTensorCores();
  bool isRow() {
    return hasReduction || tileable.count() < root.getNumParallelLoops();
  }

  const Schedule &schedule;
  llvm::BitVector tileable;
  /// Of each member, which of its loops is a loop of the root's; -1: none.
  llvm::DenseMap<Operation *, SmallVector<int>> loopsOf;
  /// How often upstream's fusion copies each member into the loop: once for
  /// each use in a copy of another. The copies are equal, and become one
  /// afterwards.
  llvm::DenseMap<Operation *, uint64_t> copiesOf;
  uint64_t moreCopies = 0; ///< than one of each member
  static constexpr uint64_t mostMoreCopies = 512;
  linalg::LinalgOp contraction;
  bool hasReduction;
  /// Whether no loop is cut, since a member has none of the root's loops.
  bool isOneBlock = false;
};
} // namespace

/// The place of a loop among the results of a map, -1 if it is none of them.
static int findResult(AffineMap map, int loop) {
  for (auto [place, expression] : llvm::enumerate(map.getResults()))
    if (auto dim = dyn_cast<AffineDimExpr>(expression))
      if (int(dim.getPosition()) == loop)
        return place;
  return -1;
}

bool Group::add(linalg::LinalgOp op) {
  // Upstream fuses into ops that have results. One on memrefs, or one that only
  // asserts or stores, has none.
  if (!root->getNumResults() || op->getBlock() != root->getBlock() ||
      op->getNumResults() != 1 || op->use_empty() || !mayMove(op))
    return false;
  AffineMap result = op.getIndexingMapMatchingResult(op->getOpResult(0));
  if (!result.isProjectedPermutation())
    return false;
  std::optional<SmallVector<int>> loops;
  for (OpOperand &use : op->getUses()) {
    auto user = dyn_cast<linalg::LinalgOp>(use.getOwner());
    if (!user || !contains(user))
      return false;
    AffineMap map = user.getMatchingIndexingMap(&use);
    SmallVector<int> here(root.getNumLoops(), -1);
    if (map.isProjectedPermutation(/*allowZeroInResults=*/true))
      for (auto [loop, loopOfUser] : llvm::enumerate(loopsOf[user])) {
        int place = loopOfUser < 0 ? -1 : findResult(map, loopOfUser);
        if (place >= 0)
          here[loop] =
              cast<AffineDimExpr>(result.getResult(place)).getPosition();
      }
    if (!loops)
      loops = here;
    for (auto [before, now] : llvm::zip(*loops, here))
      if (before != now)
        before = -1;
  }
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  llvm::BitVector both = tileable;
  for (unsigned loop : tileable.set_bits())
    if ((*loops)[loop] < 0 ||
        kinds[(*loops)[loop]] != utils::IteratorType::parallel)
      both.reset(loop);
  bool contracts = isContraction(op);
  bool reduces = op.getNumReductionLoops() > 0 && !contracts;
  // One block does all of it where nothing is to be gained by more.
  const bool isOneBlock = this->isOneBlock || (both.none() && tileable.any());
  if (isOneBlock &&
      (contraction || contracts || root->hasAttr(kTileAttrName) ||
       !isSmall(op) || !llvm::all_of(members, [&](linalg::LinalgOp member) {
         return isSmall(member);
       })))
    return false;
  uint64_t copies = 0;
  for (Operation *user : op->getUsers())
    copies = llvm::SaturatingAdd(copies, copiesOf.lookup(user));
  const uint64_t more = llvm::SaturatingAdd(moreCopies, copies - 1);
  if (!isOneBlock && more > mostMoreCopies)
    return false;
  if ((contraction || contracts) &&
      (hasReduction || reduces || (contraction && contracts) ||
       both.count() != root.getNumParallelLoops()))
    return false;
  // What the block keeps of the others grows where fewer loops are cut.
  members.push_back(op);
  loopsOf[op] = *loops;
  std::optional<int64_t> bytes = countKept(both);
  if (!bytes || *bytes > schedule.scratch) {
    members.pop_back();
    loopsOf.erase(op);
    return false;
  }
  tileable = both;
  copiesOf[op] = copies;
  moreCopies = more;
  this->isOneBlock = isOneBlock;
  if (contracts)
    contraction = op;
  hasReduction |= reduces;
  return true;
}

std::optional<int64_t> Group::countKept(const llvm::BitVector &cut) {
  int64_t bytes = 0;
  for (linalg::LinalgOp member : members) {
    // What a fill writes, the op that goes on from there overwrites.
    const bool isPlace =
        member != root && isa<linalg::FillOp>(member) &&
        llvm::all_of(member->getUses(), [](OpOperand &use) {
          return cast<linalg::LinalgOp>(use.getOwner()).isDpsInit(&use);
        });
    if (isPlace)
      continue;
    for (OpResult result : member->getResults()) {
      // The root's results are the program's, but for those that nobody reads.
      if (member == root && !result.use_empty())
        continue;
      auto type = dyn_cast<RankedTensorType>(result.getType());
      std::optional<int64_t> own =
          type ? getElementBytes(type.getElementType()) : std::nullopt;
      if (!own)
        return std::nullopt;
      AffineMap map = member.getIndexingMapMatchingResult(result);
      for (auto [size, place] : llvm::zip(type.getShape(), map.getResults())) {
        auto dim = dyn_cast<AffineDimExpr>(place);
        const bool isCut =
            dim && llvm::any_of(cut.set_bits(), [&](unsigned loop) {
              return loopsOf[member][loop] == int(dim.getPosition());
            });
        if (isCut)
          continue;
        if (ShapedType::isDynamic(size) || llvm::MulOverflow(*own, size, *own))
          return std::nullopt;
      }
      if (llvm::AddOverflow(bytes, *own, bytes))
        return std::nullopt;
    }
  }
  return bytes;
}

/// The root's loops that are the contraction's rows and columns, or a vector's
/// product's results; the last ones where it has none.
SmallVector<unsigned> Group::findRowsAndColumns() {
  SmallVector<unsigned> found;
  if (!contraction)
    return found;
  if (isVectorProduct(contraction)) {
    SmallVector<unsigned> results = findResultLoops(contraction);
    for (auto [loop, own] : llvm::enumerate(loopsOf[contraction]))
      if (tileable.test(loop) && own >= 0 &&
          llvm::is_contained(results, unsigned(own)))
        found.push_back(loop);
    return found;
  }
  if (std::optional<Contraction> product = Contraction::match(contraction))
    for (unsigned wanted : {product->rowLoop, product->columnLoop})
      for (auto [loop, own] : llvm::enumerate(loopsOf[contraction]))
        if (tileable.test(loop) && own == int(wanted))
          found.push_back(loop);
  for (int loop = tileable.find_last(); loop >= 0 && found.size() < 2;
       loop = tileable.find_prev(loop))
    if (!llvm::is_contained(found, loop))
      found.insert(found.begin(), loop);
  return found;
}

/// The root's loops that are rows of the contraction beside its rows, of the
/// same columns: the nearest one first.
SmallVector<unsigned> Group::findMoreRows() {
  SmallVector<unsigned> found;
  std::optional<Contraction> product =
      contraction ? Contraction::match(contraction) : std::nullopt;
  if (!product)
    return found;
  for (unsigned wanted : product->splitOtherLoops().second)
    for (auto [loop, own] : llvm::enumerate(loopsOf[contraction]))
      if (tileable.test(loop) && own == int(wanted))
        found.push_back(loop);
  return found;
}

/// Whether what goes along with the product has the same elements as its
/// result, so that all of it is done in registers.
bool Group::isForTensorCores() {
  if (!schedule.hasTensorCores || !contraction ||
      !offload::isForTensorCores(contraction))
    return false;
  auto hasSameElements = [&](linalg::LinalgOp member, OpOperand &operand) {
    AffineMap map = member.getMatchingIndexingMap(&operand);
    if (member.isDpsInit(&operand))
      return map.getNumResults() == member.getNumParallelLoops() &&
             map.isProjectedPermutation();
    Operation *maker = operand.get().getDefiningOp();
    return !maker || !contains(maker) || map.isPermutation();
  };
  return llvm::all_of(members, [&](linalg::LinalgOp member) {
    return (member == contraction || !member.getNumReductionLoops()) &&
           llvm::all_of(member->getOpOperands(), [&](OpOperand &operand) {
             return hasSameElements(member, operand);
           });
  });
}

SmallVector<int64_t> Group::chooseTile() {
  if (auto given = root->getAttrOfType<DenseI64ArrayAttr>(kTileAttrName))
    return llvm::to_vector(given.asArrayRef());
  return schedule.chooseTile(
      root, tileable, isRow(), countKept(tileable).value_or(schedule.kept),
      contraction, findRowsAndColumns(), findMoreRows(), isForTensorCores());
}

//===----------------------------------------------------------------------===//
// The rewrite
//===----------------------------------------------------------------------===//

/// One block does all of it.
static void makeOneBlock(Group &group, IRRewriter &rewriter) {
  linalg::LinalgOp root = group.root;
  rewriter.setInsertionPoint(root);
  Location loc = root.getLoc();
  // What a member writes first is not there before the block.
  SmallVector<Value> outputs;
  bool isOnTensors = root.hasPureTensorSemantics();
  if (isOnTensors)
    for (Value init : root.getDpsInits()) {
      while (auto member = init.getDefiningOp<linalg::LinalgOp>()) {
        if (!group.contains(member))
          break;
        init = member.getDpsInitOperand(cast<OpResult>(init).getResultNumber())
                   ->get();
      }
      outputs.push_back(init);
    }
  SmallVector<OpFoldResult> zero{rewriter.getIndexAttr(0)},
      one{rewriter.getIndexAttr(1)};
  auto loop = scf::ForallOp::create(
      rewriter, loc, zero, one, one, outputs,
      rewriter.getArrayAttr(mapToBlocks(rewriter.getContext(), 1)));
  setKernelName(loop, group.getName());
  rewriter.setInsertionPointToStart(loop.getBody());
  IRMapping map;
  for (auto [output, argument] : llvm::zip(outputs, loop.getRegionOutArgs()))
    map.map(output, argument);
  Operation *last = nullptr;
  for (linalg::LinalgOp member : llvm::reverse(group.members))
    last = rewriter.clone(*member, map);
  if (!isOnTensors) {
    rewriter.eraseOp(root);
    return;
  }
  rewriter.setInsertionPointToStart(loop.getTerminator().getBody());
  for (auto [value, argument] :
       llvm::zip(last->getResults(), loop.getRegionOutArgs())) {
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<OpFoldResult> offsets(type.getRank(), rewriter.getIndexAttr(0)),
        strides(type.getRank(), rewriter.getIndexAttr(1)), sizes;
    {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPoint(loop.getTerminator());
      sizes = tensor::getMixedSizes(rewriter, loc, value);
    }
    tensor::ParallelInsertSliceOp::create(rewriter, loc, value, argument,
                                          offsets, sizes, strides);
  }
  rewriter.replaceOp(root, loop.getResults());
}

/// Leaves a product that is fused with nothing as it is, for a library. False,
/// with nothing done, if it is none.
static bool leaveProduct(Group &group, IRRewriter &rewriter) {
  linalg::LinalgOp root = group.root;
  if (!isContraction(root) ||
      llvm::any_of(group.members, [&](linalg::LinalgOp member) {
        return member != root && member != findZeros(root);
      }))
    return false;
  std::string why;
  if (!Product::match(root, why)) {
    if (!why.empty())
      root->emitRemark() << Product::isNotCalled << why;
    return false;
  }
  root->setAttr(kTileAttrName,
                rewriter.getDenseI64ArrayAttr(group.chooseTile()));
  linalg::FillOp zeros = findZeros(root);
  root->setAttr(kProductAttrName, rewriter.getBoolAttr(!zeros));
  if (!zeros)
    return true;
  // What is there the library does not read.
  rewriter.setInsertionPoint(root);
  OpOperand *init = root.getDpsInitOperand(0);
  auto type = cast<RankedTensorType>(init->get().getType());
  init->set(tensor::EmptyOp::create(
      rewriter, root.getLoc(),
      tensor::getMixedSizes(rewriter, root.getLoc(), zeros.output()),
      type.getElementType()));
  if (zeros->use_empty())
    rewriter.eraseOp(zeros);
  return true;
}

/// Fusion leaves slices of what it has cloned behind.
static void eraseUnusedSlices(RewriterBase &rewriter, Operation *op) {
  for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
    if (isa<tensor::ExtractSliceOp>(user)) {
      eraseUnusedSlices(rewriter, user);
      if (user->use_empty())
        rewriter.eraseOp(user);
    }
}

static LogicalResult makeBlocks(Group &group, IRRewriter &rewriter) {
  SmallVector<int64_t> tile = group.chooseTile();
  if (llvm::all_of(tile, [](int64_t size) { return size == 0; })) {
    makeOneBlock(group, rewriter);
    return success();
  }
  linalg::LinalgOp root = group.root;
  const std::string name = group.getName();
  scf::SCFTilingOptions tiling;
  tiling.setLoopType(scf::SCFTilingOptions::LoopType::ForallOp);
  SmallVector<OpFoldResult> sizes;
  for (int64_t size : tile)
    sizes.push_back(rewriter.getIndexAttr(size));
  tiling.setTileSizes(sizes);
  tiling.setMapping(mapToBlocks(
      rewriter.getContext(),
      llvm::count_if(tile, [](int64_t size) { return size != 0; })));
  scf::SCFTileAndFuseOptions options;
  options.setTilingOptions(tiling);
  options.setFusionControlFn(
      [&](tensor::ExtractSliceOp, OpResult producer,
          bool) -> std::optional<scf::SCFTileAndFuseOptions::ControlFnResult> {
        if (!group.contains(producer.getOwner()))
          return std::nullopt;
        return scf::SCFTileAndFuseOptions::ControlFnResult{};
      });
  rewriter.setInsertionPoint(root);
  auto tileable = cast<TilingInterface>(root.getOperation());
  if (!root->getNumResults()) {
    auto tiled = scf::tileUsingSCF(rewriter, tileable, tiling);
    if (failed(tiled))
      return failure();
    setKernelName(tiled->loops.front(), name);
    rewriter.eraseOp(root);
    return success();
  }
  auto fused =
      scf::tileConsumerAndFuseProducersUsingSCF(rewriter, tileable, options);
  if (failed(fused))
    return failure();
  setKernelName(fused->loops.front(), name);
  for (OpResult result : root->getResults())
    rewriter.replaceAllUsesWith(result, fused->replacements.lookup(result));
  // A member with memory of its own in its body would never be taken for dead.
  for (linalg::LinalgOp member : group.members) {
    eraseUnusedSlices(rewriter, member);
    if (member->use_empty())
      rewriter.eraseOp(member);
  }
  return success();
}

/// What a block writes first and nobody else sees is the block's own.
static void sinkDestinations(scf::ForallOp loop) {
  SetVector<Operation *> outside;
  loop.getBody()->walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (auto empty = operand.getDefiningOp<tensor::EmptyOp>())
        if (!loop->isAncestor(empty))
          outside.insert(empty);
  });
  OpBuilder builder = OpBuilder::atBlockBegin(loop.getBody());
  for (Operation *empty : outside)
    empty->getResult(0).replaceUsesWithIf(
        builder.clone(*empty)->getResult(0),
        [&](OpOperand &use) { return loop->isProperAncestor(use.getOwner()); });
}

namespace {
struct FormGroups : public gpuasync::impl::GPUAsyncFormGroupsBase<FormGroups> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(verifyTiles(getOperation())))
      return signalPassFailure();
    Schedule schedule = Schedule::get(device);
    IRRewriter rewriter(&getContext());
    SmallVector<linalg::LinalgOp> all;
    getOperation()->walk([&](linalg::LinalgOp op) { all.push_back(op); });
    for (linalg::LinalgOp op : all)
      dropWithoutIterations(rewriter, op);
    all.clear();
    if (blas == BlasMode::Auto)
      absorbTranspositions(rewriter, getOperation());
    getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<scf::ForallOp, scf::ParallelOp>(op))
        return WalkResult::skip();
      auto structured = dyn_cast<linalg::LinalgOp>(op);
      if (!structured)
        return WalkResult::advance();
      all.push_back(structured);
      // One of no loops in its body is a thread's.
      return WalkResult::skip();
    });
    llvm::DenseSet<Operation *> taken, apart;
    if (blas == BlasMode::Auto)
      for (linalg::LinalgOp op : all)
        if (isApart(op, device))
          apart.insert(op);
    SmallVector<Group> groups;
    for (auto [place, op] : llvm::enumerate(llvm::reverse(all))) {
      if (taken.contains(op))
        continue;
      Group &group = groups.emplace_back(op, schedule);
      taken.insert(op);
      for (size_t i = all.size() - place - 1; i-- > 0;)
        if (!taken.contains(all[i]) && !apart.contains(all[i]) &&
            (!apart.contains(op) ||
             all[i].getOperation() == findZeros(op).getOperation()) &&
            group.add(all[i]))
          taken.insert(all[i]);
    }
    // From the front, so that what a group uses is there.
    for (Group &group : llvm::reverse(groups)) {
      Decision(*this, group.root, "Group")
          .count(numGroups, "groups")
          .count(numOps, "ops-in-groups", group.members.size());
      if ((blas == BlasMode::Off || !leaveProduct(group, rewriter)) &&
          failed(makeBlocks(group, rewriter))) {
        group.root->emitOpError("cannot be cut into tiles");
        return signalPassFailure();
      }
    }
    getOperation()->walk(sinkDestinations);
    // Of what is the block's own it keeps its tile only.
    RewritePatternSet patterns(&getContext());
    tensor::populateFoldTensorEmptyPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
