//===- MarkOverlaps.cpp - collectives beside products ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A collective on a GPU takes some of its processors. A product beside it whose
// workgroups fill the device once takes a second round then.
//===----------------------------------------------------------------------===//

#include "Contraction.h"

#include "GPUAsync/Decision.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "GPUAsync/Offload/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCMARKOVERLAPS
#include "GPUAsync/Offload/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

// Of an H200 and NVLink (docs/reference/Ranks.md). Only their ratios count: the
// unit is the time of a multiplication of f32 numbers.
static constexpr double workPerByte = 300; ///< by few processors
static constexpr double speedOfAll = 4;    ///< against few processors
static constexpr double speedOfCores = 16; ///< of products of 16-bit numbers
/// Smaller ones are over soon, and take few processors by themselves.
static constexpr double leastBytes = 1 << 18;

static unsigned getBits(Type element) {
  return element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 64;
}

static double getProductWork(Operation *op) {
  auto product = dyn_cast<linalg::LinalgOp>(op);
  if (!product || product.getNumDpsInputs() != 2 ||
      !product.hasPureTensorSemantics() || !offload::addsProducts(product))
    return 0;
  double work = 1;
  for (int64_t size : product.getStaticLoopRanges()) {
    if (ShapedType::isDynamic(size))
      return 0;
    work *= static_cast<double>(size);
  }
  Type type = getElementTypeOrSelf(product.getDpsInputs()[0].getType());
  return getBits(type) <= 16 ? work / speedOfCores : work;
}

static double getBytes(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (!type.hasStaticShape())
    return 0;
  return static_cast<double>(type.getNumElements()) *
         llvm::divideCeil(getBits(type.getElementType()), 8);
}

/// How much of its data each of four ranks sends.
static double getShare(TensorCollectiveOp collective) {
  return collective.getWhat().getKind() == CollectiveKind::AllReduce ? 1.5
                                                                     : 0.75;
}

namespace {
struct MarkOverlaps
    : public gpuasync::impl::GPUAsyncMarkOverlapsBase<MarkOverlaps> {
  void runOnOperation() override {
    getOperation()->walk([&](Block *block) { markBlock(*block); });
  }

private:
  void markBlock(Block &block);
};

/// The ops of a block, numbered in their order.
class Numbered {
public:
  explicit Numbered(Block &block) {
    llvm::DenseMap<Operation *, size_t> places;
    for (Operation &op : block) {
      auto &from = uses.emplace_back();
      op.walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          if (Operation *producer = operand.getDefiningOp())
            if (auto found = places.find(producer); found != places.end())
              from.push_back(found->second);
      });
      work.push_back(getProductWork(&op));
      isCollective.push_back(isa<TensorCollectiveOp>(op));
      places[&op] = work.size() - 1;
    }
  }

  /// Work that is behind a collective and needs nothing of it, nor of those
  /// behind it, which start later.
  double getWorkBeside(size_t place) const {
    std::vector<bool> needs(work.size());
    needs[place] = true;
    double sum = 0;
    for (size_t i = place + 1; i < work.size(); ++i) {
      needs[i] = isCollective[i] || llvm::any_of(uses[i], [&](size_t from) {
                   return needs[from];
                 });
      if (!needs[i])
        sum += work[i];
    }
    return sum;
  }

  std::vector<double> work;

private:
  std::vector<std::vector<size_t>> uses;
  std::vector<bool> isCollective;
};
} // namespace

void MarkOverlaps::markBlock(Block &block) {
  if (block.getOps<TensorCollectiveOp>().empty())
    return;
  const Numbered ops(block);
  // Times at which products and collectives end that have come so far.
  double products = 0, collectives = 0;
  for (auto [place, op] : llvm::enumerate(block)) {
    products += ops.work[place];
    auto collective = dyn_cast<TensorCollectiveOp>(op);
    if (!collective)
      continue;
    const double bytes = std::max(getBytes(collective.getSource()),
                                  getBytes(collective.getDestination())),
                 time = bytes * workPerByte * getShare(collective),
                 timeByAll = time / speedOfAll,
                 begin = std::max(products, collectives),
                 end = products + ops.getWorkBeside(place);
    // Beside one by all, products take twice as long.
    const bool isOverlapped =
        bytes >= leastBytes && begin + time <= end + timeByAll / 2;
    collectives = begin + (isOverlapped ? time : timeByAll);
    if (!isOverlapped)
      continue;
    collective.setOverlapped(true);
    Decision(*this, collective, "Overlapped")
        .count(numOverlapped, "overlapped-collectives");
  }
}
