//===- FormRegions.cpp - stretches of device work -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pass gpu-async-form-regions: cuts blocks into stretches that a region may
// hold, where Stretch.cpp says how, and puts a region around each.
//===----------------------------------------------------------------------===//

#include "RegionContents.h"
#include "Stretch.h"

#include "GPUAsync/Decision.h"
#include "GPUAsync/IR/OpKinds.h"
#include "GPUAsync/Transforms/Passes.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCFORMREGIONS
#include "GPUAsync/Transforms/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::regions;

/// Makes and destroys inside what is used inside only. A stream that is known
/// to be idle when it is destroyed stays outside: given back inside, with work
/// on it, it would have to be asked before it is used again.
static void takeStreamsIn(RegionOp region) {
  llvm::SmallSetVector<Value, 8> streams;
  region->walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (operand.getDefiningOp<StreamCreateOp>())
        streams.insert(operand);
  });
  Block *block = region->getBlock();
  Block &body = region.getBody().front();
  for (Value stream : streams) {
    Operation *create = stream.getDefiningOp();
    StreamDestroyOp destroy;
    bool isOwn = create->getBlock() == block;
    for (Operation *user : stream.getUsers()) {
      if (region->isProperAncestor(user))
        continue;
      destroy = dyn_cast<StreamDestroyOp>(user);
      isOwn &= destroy && !destroy.getIdle() && user->getBlock() == block;
    }
    if (!isOwn || !destroy)
      continue;
    create->moveBefore(&body, body.begin());
    destroy->moveBefore(body.getTerminator());
  }
}

static unsigned countWork(RegionOp region) {
  unsigned count = 0;
  region->walk([&](WorkOpInterface) { ++count; });
  return count;
}

/// Of one launch and a host wait: as a graph it tells of its end sooner than
/// its stream would.
static bool isAwaitedLaunch(const Stretch &stretch) {
  return stretch.size == 1 &&
         isa_and_nonnull<StreamSynchronizeOp>(stretch.end.at) &&
         llvm::any_of(stretch.ops, runsKernel);
}

namespace {

struct FormRegions
    : public gpuasync::impl::GPUAsyncFormRegionsBase<FormRegions> {
  using Base::Base;

  void runOnOperation() override {
    if (play == Play::Streams)
      return markAllAnalysesPreserved();
    BlockingTable kernels;
    for (Operation &op : getOperation().getBody()->getOperations()) {
      auto function = dyn_cast<FunctionOpInterface>(&op);
      if (!function || function.isExternal() || !hasWork(function))
        continue;
      RegionContents contents(function, kernels);
      for (Block &block : function.getFunctionBody())
        formIn(block, contents);
      SmallVector<RegionOp> formed;
      function->walk([&](RegionOp region) { formed.push_back(region); });
      llvm::for_each(formed, takeStreamsIn);
    }
  }

private:
  static bool hasWork(FunctionOpInterface function) {
    return function
        ->walk([](WorkOpInterface work) {
          return work.getStream() ? WalkResult::interrupt()
                                  : WalkResult::advance();
        })
        .wasInterrupted();
  }

  void formIn(Block &block, RegionContents &contents);
  void report(RegionOp region, const Border &border);
};

} // namespace

/// Regions of the block itself, and of blocks of ops that are borders in it.
void FormRegions::formIn(Block &block, RegionContents &contents) {
  // Found first, since regions change the block.
  SmallVector<Stretch> stretches;
  SmallVector<Operation *> inner;
  Stretch current;
  auto end = [&](const Border &border) {
    current.end = border;
    if (!current.ops.empty())
      stretches.push_back(std::move(current));
    current = Stretch();
  };
  for (Operation &op : block) {
    std::optional<Border> border = contents.findBorder(&op);
    if (!border) {
      current.ops.push_back(&op);
      continue;
    }
    end(*border);
    if (op.getNumRegions() && !isa<RegionOp>(op))
      inner.push_back(&op);
  }
  while (!stretches.empty()) {
    Stretch stretch = stretches.pop_back_val();
    SmallVector<unsigned> cuts = stretch.place();
    if (cuts.empty()) {
      if (stretch.size < 2 && !isAwaitedLaunch(stretch))
        continue;
      RegionOp region = stretch.form();
      Decision(*this, region, "Region")
          .count(numRegions, "regions")
          .count(numOps, "ops-in-regions", countWork(region));
      if (remarks)
        report(region, stretch.end);
      continue;
    }
    cuts.push_back(stretch.ops.size());
    unsigned begin = 0;
    for (unsigned cut : cuts) {
      Stretch part;
      part.ops.append(stretch.ops.begin() + begin, stretch.ops.begin() + cut);
      part.end = stretch.end;
      if (cut < stretch.ops.size()) {
        Operation *op = stretch.ops[cut];
        part.end = {op, "an event goes into or out of what is around it"};
        // It may hold stretches of its own.
        if (op->getNumRegions())
          inner.push_back(op);
      }
      if (!part.ops.empty())
        stretches.push_back(std::move(part));
      begin = cut + 1;
    }
  }
  for (Operation *op : inner)
    for (Region &region : op->getRegions())
      for (Block &innerBlock : region)
        formIn(innerBlock, contents);
}

void FormRegions::report(RegionOp region, const Border &border) {
  InFlightDiagnostic remark = region.emitRemark("a region of ")
                              << countWork(region) << " ops of device work";
  if (border.at)
    remark.attachNote(border.at->getLoc()) << "it ends here: " << border.reason;
  if (border.point.at)
    remark.attachNote(border.point.at->getLoc()) << border.point.reason;
  else if (!border.point.reason.empty())
    remark.attachNote(border.at->getLoc()) << border.point.reason;
}
