//===- LaunchLoops.cpp - loops of small kernels ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A round of a front end's loop over time or over iterations is often a few
// kernels that take less time than their launches. On a CPU such a loop becomes
// one kernel, whose one thread does what the host did, too.
//===----------------------------------------------------------------------===//

#include "Distribute.h"
#include "GPUAsync/Decision.h"
#include "GPUAsync/Offload/Passes.h"
#include "Schedule.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "llvm/Support/CheckedArithmetic.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCLAUNCHLOOPS
#include "GPUAsync/Offload/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::offload;

/// Most operations on numbers of a kernel that is not worth a launch: with
/// vectors they take about ten microseconds. Fewer, where blocks would share
/// them: as much as it takes to have other threads begin.
static constexpr int64_t mostOperations = 1 << 18;
static constexpr int64_t mostShared = 1 << 16;
/// Most elements of a copy between two kernels.
static constexpr int64_t mostCopied = 1 << 14;
/// Most bytes that all kernels of a round together keep on the stack.
static constexpr int64_t mostStack = 256 << 10;

/// The most rounds of a loop; nothing if no bound is known.
static std::optional<int64_t> getMostRounds(scf::ForOp loop) {
  std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound());
  std::optional<int64_t> step = getConstantIntValue(loop.getStep());
  Value bound = loop.getUpperBound();
  std::optional<int64_t> upper = getConstantIntValue(bound);
  if (auto least = bound.getDefiningOp<arith::MinSIOp>())
    for (Value operand : least->getOperands())
      if (std::optional<int64_t> most = getConstantIntValue(operand))
        upper = upper ? std::min(*upper, *most) : most;
  if (!upper || !step || *step < 1)
    return std::nullopt;
  // What begins later has fewer.
  int64_t length =
      std::max<int64_t>(*upper - std::max<int64_t>(lower.value_or(0), 0), 0);
  return lower && *lower < 0
             ? std::nullopt
             : std::optional(int64_t(llvm::divideCeil(length, *step)));
}

/// Operations of one run of the block; nothing if they are not known.
static std::optional<int64_t> countOperations(Block &block) {
  std::optional<int64_t> total = 0;
  for (Operation &op : block) {
    std::optional<int64_t> count = 1;
    if (op.getName().getDialectNamespace() == "math")
      count = 10;
    for (Type type : op.getResultTypes())
      if (auto vector = dyn_cast<VectorType>(type))
        count = vector.getNumElements();
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      std::optional<int64_t> rounds = getMostRounds(loop);
      std::optional<int64_t> body = countOperations(*loop.getBody());
      count = rounds && body ? llvm::checkedMul(*rounds, *body) : std::nullopt;
    } else if (isa<scf::IfOp>(op)) {
      for (Region &region : op.getRegions())
        for (Block &inner : region) {
          std::optional<int64_t> side = countOperations(inner);
          count =
              side && count ? llvm::checkedAdd(*count, *side) : std::nullopt;
        }
    } else if (op.getNumRegions()) {
      return std::nullopt;
    }
    total = count ? llvm::checkedAdd(*total, *count) : std::nullopt;
    if (!total)
      return std::nullopt;
  }
  return total;
}

namespace {
/// A loop on the host that may become a kernel.
class HostLoop {
public:
  explicit HostLoop(scf::ForOp loop) : loop(loop) {}

  /// Whether one thread can do all of it and launches are most of its time.
  bool isWorthwhile();
  void makeKernel();

private:
  bool takes(Operation *op);
  bool takesLaunch(gpu::LaunchOp launch);
  void inlineLaunch(gpu::LaunchOp launch, Block &entry);

  scf::ForOp loop;
  SmallVector<gpu::LaunchOp> launches;
  SmallVector<memref::CopyOp> copies;
  SmallVector<Operation *> symbolUsers;
  SmallVector<std::pair<memref::AllocOp, memref::DeallocOp>> memory;
  int64_t stack = 0;
};
} // namespace

static bool areNumbers(TypeRange types) {
  return llvm::all_of(types,
                      [](Type type) { return type.isIntOrIndexOrFloat(); });
}

bool HostLoop::takesLaunch(gpu::LaunchOp launch) {
  if (launch->getNumResults() || launch.getAsyncDependencies().size() ||
      launch.hasClusterSize() || launch.getDynamicSharedMemorySize() ||
      launch.getNumWorkgroupAttributions() ||
      launch.getNumPrivateAttributions() || !launch.getBody().hasOneBlock())
    return false;
  auto multiply = [](ValueRange sizes) {
    std::optional<int64_t> product = 1;
    for (Value size : sizes) {
      std::optional<int64_t> known = getConstantIntValue(size);
      product =
          known && product ? llvm::checkedMul(*product, *known) : std::nullopt;
    }
    return product;
  };
  const bool hasOneBlock = multiply(launch->getOperands().take_front(3)) == 1;
  std::optional<int64_t> threads = multiply(launch->getOperands());
  Block &body = launch.getBody().front();
  std::optional<int64_t> count = countOperations(body);
  if (!threads || !count || !(count = llvm::checkedMul(*count, *threads)) ||
      *count > (hasOneBlock ? mostOperations : mostShared))
    return false;
  WalkResult walked = launch.getBody().walk([&](Operation *op) {
    if (isa<gpu::TerminatorOp>(op))
      return WalkResult::advance();
    if (auto alloca = dyn_cast<memref::AllocaOp>(op)) {
      std::optional<int64_t> bytes = getBytes(alloca.getType());
      if (!bytes || *bytes > mostStack - stack || op->getParentOp() != launch)
        return WalkResult::interrupt();
      stack += *bytes;
      return WalkResult::advance();
    }
    // What is called may ask which thread runs it, or wait for others.
    return isa_and_nonnull<gpu::GPUDialect>(op->getDialect()) ||
                   isa<CallOpInterface>(op)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return !walked.wasInterrupted();
}

/// Whether a thread can do what the host does in the loop.
bool HostLoop::takes(Operation *op) {
  if (auto launch = dyn_cast<gpu::LaunchOp>(op)) {
    launches.push_back(launch);
    return takesLaunch(launch);
  }
  if (auto copy = dyn_cast<memref::CopyOp>(op)) {
    auto type = dyn_cast<MemRefType>(copy.getSource().getType());
    copies.push_back(copy);
    std::optional<int64_t> count =
        type ? countElements(type.getShape()) : std::nullopt;
    return count && *count <= mostCopied &&
           isa<MemRefType>(copy.getTarget().getType());
  }
  if (auto alloc = dyn_cast<memref::AllocOp>(op)) {
    if (!alloc.getType().hasStaticShape())
      return false;
    for (Operation *user : alloc->getUsers())
      if (auto free = dyn_cast<memref::DeallocOp>(user);
          free && free->getBlock() == alloc->getBlock()) {
        memory.emplace_back(alloc, free);
        return true;
      }
    return false;
  }
  if (auto free = dyn_cast<memref::DeallocOp>(op))
    return llvm::any_of(memory,
                        [&](auto &pair) { return pair.second == free; });
  if (isa<scf::ForOp, scf::IfOp>(op))
    return areNumbers(op->getResultTypes()) &&
           llvm::all_of(op->getRegions(), [&](Region &region) {
             return llvm::all_of(region, [&](Block &block) {
               return llvm::all_of(
                   block, [&](Operation &inner) { return takes(&inner); });
             });
           });
  if (isa<memref::LoadOp, memref::StoreOp, scf::YieldOp>(op))
    return true;
  if (!isPure(op) || op->getNumRegions())
    return false;
  // A kernel's module has symbols of its own.
  if (!isa<SymbolUserOpInterface>(op))
    return true;
  symbolUsers.push_back(op);
  return !op->getNumOperands();
}

bool HostLoop::isWorthwhile() {
  return loop->use_empty() && takes(loop) && !launches.empty();
}

/// Its blocks and threads become loops.
void HostLoop::inlineLaunch(gpu::LaunchOp launch, Block &entry) {
  IRRewriter rewriter(launch);
  Location loc = launch.getLoc();
  Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
  Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
  SmallVector<Value> ids, sizes(launch->getOperands());
  for (Value size : sizes) {
    if (getConstantIntValue(size) == 1) {
      ids.push_back(zero);
      continue;
    }
    auto turns = scf::ForOp::create(rewriter, loc, zero, size, one);
    rewriter.setInsertionPointToStart(turns.getBody());
    ids.push_back(turns.getInductionVar());
  }
  llvm::append_range(ids, sizes);
  Block &body = launch.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(body)) {
    if (isa<memref::AllocaOp>(op))
      rewriter.moveOpBefore(&op, &entry, entry.begin());
    else if (isa<gpu::TerminatorOp>(op))
      rewriter.eraseOp(&op);
  }
  rewriter.inlineBlockBefore(&body, rewriter.getInsertionBlock(),
                             rewriter.getInsertionPoint(), ids);
  rewriter.eraseOp(launch);
}

void HostLoop::makeKernel() {
  IRRewriter rewriter(loop);
  Location loc = loop.getLoc();
  for (Operation *op : symbolUsers)
    rewriter.moveOpBefore(op, loop);
  for (auto [alloc, free] : memory) {
    rewriter.moveOpBefore(alloc, loop);
    rewriter.moveOpAfter(free, loop);
  }
  for (memref::CopyOp copy : copies) {
    rewriter.setInsertionPoint(copy);
    makeLoops(rewriter,
              linalg::makeMemRefCopyOp(rewriter, copy.getLoc(),
                                       copy.getSource(), copy.getTarget()));
    rewriter.eraseOp(copy);
  }
  rewriter.setInsertionPoint(loop);
  Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
  auto kernel =
      gpu::LaunchOp::create(rewriter, loc, one, one, one, one, one, one);
  // Named after the first that the loop would launch.
  for (gpu::LaunchOp launch : launches)
    if (FlatSymbolRefAttr name = launch.getFunctionAttr()) {
      kernel.setFunctionAttr(FlatSymbolRefAttr::get(
          kernel.getContext(), "loop_of_" + name.getValue().str()));
      break;
    }
  Block &entry = kernel.getBody().front();
  rewriter.setInsertionPointToStart(&entry);
  Operation *end = gpu::TerminatorOp::create(rewriter, loc);
  rewriter.moveOpBefore(loop, end);
  for (gpu::LaunchOp launch : launches)
    inlineLaunch(launch, entry);
}

namespace {
struct LaunchLoops
    : public gpuasync::impl::GPUAsyncLaunchLoopsBase<LaunchLoops> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation()->walk([&](scf::ForOp loop) {
      if (!loop->getParentOfType<gpu::LaunchOp>())
        loops.push_back(loop);
    });
    // The outermost that there is; what it holds is part of it.
    for (scf::ForOp loop : llvm::reverse(loops)) {
      if (loop->getParentOfType<gpu::LaunchOp>())
        continue;
      HostLoop host(loop);
      if (!host.isWorthwhile())
        continue;
      Decision(*this, loop, "LoopInKernel").count(numLoops, "loops");
      host.makeKernel();
    }
  }
};
} // namespace
