//===- MakeForksExplicit.cpp - from the token to the linear form ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gives every token exactly one consumer on every path: forks where it has
// several, a release where it has none, and loops carry what they use.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Decision.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "GPUAsync/IR/RegionTokens.h"
#include "GPUAsync/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"

#include <deque>

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCMAKEFORKSEXPLICIT
#include "GPUAsync/Transforms/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

namespace {

/// The list of dependencies of an op that orders by tokens, if it is one.
std::optional<MutableOperandRange> dependenciesOf(Operation *op) {
  if (auto work = dyn_cast<WorkOpInterface>(op))
    return work.getAsyncDependenciesMutable();
  if (auto wait = dyn_cast<WaitOp>(op))
    return wait.getAsyncDependenciesMutable();
  return std::nullopt;
}

/// Waiting twice for one point is waiting once.
void removeDuplicates(Operation *op) {
  std::optional<MutableOperandRange> dependencies = dependenciesOf(op);
  if (!dependencies)
    return;
  llvm::SmallPtrSet<void *, 8> seen;
  SmallVector<Value> unique;
  for (OpOperand &operand : *dependencies)
    if (seen.insert(operand.get().getAsOpaquePointer()).second)
      unique.push_back(operand.get());
  if (unique.size() != dependencies->size())
    dependencies->assign(unique);
}

//===----------------------------------------------------------------------===//
// What the pass refuses
//===----------------------------------------------------------------------===//

constexpr StringLiteral structureFirst =
    "run gpu-async-structure-control-flow first, which turns control-flow "
    "graphs into scf ops";

/// Whether `op` may make or take tokens.
bool handlesTokens(Operation *op) {
  if (op->hasTrait<OpTrait::IsTerminator>()) {
    Operation *parent = op->getParentOp();
    if (isa<FunctionOpInterface>(parent))
      return op->hasTrait<OpTrait::ReturnLike>();
    return isa<scf::YieldOp, scf::ConditionOp>(op) && carriesTokens(parent);
  }
  if (op->getNumRegions())
    return carriesTokens(op);
  return isAsyncOp(op) || isa<CallOpInterface, arith::SelectOp>(op);
}

LogicalResult checkMaker(Value token) {
  if (Operation *maker = token.getDefiningOp()) {
    if (handlesTokens(maker))
      return success();
    if (!maker->getNumRegions())
      return maker->emitOpError("makes a token: only ops of gpu_async, calls, "
                                "arith.select and scf ops can");
    if (runsOneRegionOnce(maker))
      return maker->emitOpError(
                 "returns a token from a region of several blocks: ")
             << structureFirst;
    return maker->emitOpError(
        "returns a token: of ops with regions only scf.if, scf.index_switch, "
        "scf.execute_region, scf.for and scf.while can; wait for the token "
        "(gpu_async.wait) in the region that makes it");
  }
  auto argument = cast<BlockArgument>(token);
  Block *block = argument.getOwner();
  Operation *parent = block->getParentOp();
  if (block->isEntryBlock() &&
      (isa<FunctionOpInterface>(parent) || carriesTokens(parent)))
    return success();
  InFlightDiagnostic diagnostic =
      block->isEntryBlock()
          ? parent->emitOpError(
                "carries a token as a block argument: of ops with regions only "
                "scf.for and scf.while can; wait for the token "
                "(gpu_async.wait) before")
          : parent->emitOpError("has a token as argument of one of several "
                                "blocks: ")
                << structureFirst;
  diagnostic.attachNote(argument.getLoc()) << "the argument";
  return diagnostic;
}

LogicalResult checkUse(OpOperand &use) {
  Value token = use.get();
  Operation *user = use.getOwner();
  auto refuse = [&](const Twine &what) {
    InFlightDiagnostic diagnostic = user->emitOpError(what);
    diagnostic.attachNote(token.getLoc()) << "the token is made here";
    return diagnostic;
  };
  if (!handlesTokens(user)) {
    if (user->getNumSuccessors())
      return refuse("takes a token to another block: ") << structureFirst;
    if (user->hasTrait<OpTrait::IsTerminator>() || user->getNumRegions())
      return refuse("takes a token: of ops with regions only scf.if, "
                    "scf.index_switch, scf.execute_region, scf.for and "
                    "scf.while can; wait for it before (gpu_async.wait)");
    return refuse("takes a token: only ops of gpu_async, calls, arith.select, "
                  "scf ops and returns can");
  }
  for (Block *block = user->getBlock(); block != token.getParentBlock();
       block = block->getParentOp()->getBlock()) {
    Operation *parent = block->getParentOp();
    if (block->getParent() == token.getParentRegion())
      return refuse("takes a token of another block: ") << structureFirst;
    if (carriesTokens(parent))
      continue;
    if (runsOneRegionOnce(parent))
      return refuse("takes a token from outside of a region of several "
                    "blocks: ")
             << structureFirst;
    InFlightDiagnostic diagnostic =
        refuse("takes a token from outside of '")
        << parent->getName()
        << "', which is not supported: wait for it (gpu_async.wait) before";
    diagnostic.attachNote(parent->getLoc()) << "the op that it is in";
    return diagnostic;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// One consumer for each token
//===----------------------------------------------------------------------===//

struct Capture;

/// What consumes a token in a block: an operand, or an op whose regions do. By
/// number, since operands move when an op gets more of them.
struct Consumer {
  Operation *op;
  unsigned operand;
  Capture *capture = nullptr;
};
using Consumers = SmallVector<Consumer, 2>;
/// In program order.
using ConsumersOfTokens = llvm::MapVector<Value, Consumers>;

/// An op of which each region consumes a token from outside.
struct Capture {
  Operation *op;
  SmallVector<Consumers, 2> regions;
};

/// Works from the inside out: a block's consumers of tokens from elsewhere are
/// its parent's business. Each use is looked at once.
class Linearizer {
public:
  /// Gives the tokens made in the region one consumer each. Returns who
  /// consumes those from elsewhere.
  ConsumersOfTokens run(Region &region);

private:
  void runBlock(Block &block, ConsumersOfTokens &consumers);
  Operation *runRegions(Operation *op, ConsumersOfTokens &consumers);
  Operation *carry(Operation *loop, ArrayRef<ConsumersOfTokens> captured);
  void capture(Operation *op, MutableArrayRef<ConsumersOfTokens> captured,
               ConsumersOfTokens &consumers);
  void consume(Value token, ArrayRef<Consumer> consumers, OpBuilder &builder);
  void replace(const Consumer &consumer, Value token);

  std::deque<Capture> captures;
};

/// Hands `token` to one consumer.
void Linearizer::replace(const Consumer &consumer, Value token) {
  if (!consumer.capture)
    return consumer.op->setOperand(consumer.operand, token);
  for (auto [region, consumers] :
       llvm::zip_equal(consumer.op->getRegions(), consumer.capture->regions)) {
    OpBuilder builder = OpBuilder::atBlockBegin(&region.front());
    consume(token, consumers, builder);
  }
}

/// Hands `token` to its consumers, through a fork if they are not one.
void Linearizer::consume(Value token, ArrayRef<Consumer> consumers,
                         OpBuilder &builder) {
  if (consumers.size() == 1)
    return replace(consumers.front(), token);
  if (consumers.empty()) {
    ReleaseOp::create(builder, token.getLoc(), token);
    return;
  }
  auto fork = ForkOp::create(builder, token.getLoc(), token, consumers.size());
  for (auto [consumer, branch] : llvm::zip_equal(consumers, fork.getTokens()))
    replace(consumer, branch);
}

ConsumersOfTokens Linearizer::run(Region &region) {
  ConsumersOfTokens consumers;
  for (Block &block : region)
    runBlock(block, consumers);
  return consumers;
}

void Linearizer::runBlock(Block &block, ConsumersOfTokens &consumers) {
  SmallVector<Value> made;
  auto addMade = [&](ValueRange values) {
    for (Value value : values)
      if (isToken(value))
        made.push_back(value);
  };
  addMade(block.getArguments());
  for (Operation &next : llvm::make_early_inc_range(block)) {
    Operation *op = &next;
    if (isa<gpu::GPUModuleOp>(op))
      continue;
    // Choosing a token consumes the other one too.
    if (auto select = dyn_cast<arith::SelectOp>(op);
        select && isToken(select.getResult())) {
      if (select.getTrueValue() == select.getFalseValue()) {
        select.replaceAllUsesWith(select.getTrueValue());
        select.erase();
        continue;
      }
      OpBuilder builder(op);
      auto branch = scf::IfOp::create(
          builder, op->getLoc(), select.getCondition(),
          [&](OpBuilder &nested, Location loc) {
            scf::YieldOp::create(nested, loc, select.getTrueValue());
          },
          [&](OpBuilder &nested, Location loc) {
            scf::YieldOp::create(nested, loc, select.getFalseValue());
          });
      select.replaceAllUsesWith(branch.getResult(0));
      select.erase();
      op = branch;
    }
    removeDuplicates(op);
    if (op->getNumRegions())
      op = runRegions(op, consumers);
    else
      for (OpOperand &operand : op->getOpOperands())
        if (isToken(operand.get()))
          consumers[operand.get()].push_back({op, operand.getOperandNumber()});
    addMade(op->getResults());
  }

  // Backwards, so that what goes to one place stands in the order of the
  // tokens.
  SmallVector<Consumers> ofMade;
  ofMade.reserve(made.size());
  llvm::DenseSet<Value> own(made.begin(), made.end());
  for (Value token : made)
    ofMade.push_back(std::move(consumers[token]));
  consumers.remove_if(
      [&](const auto &entry) { return own.contains(entry.first); });
  for (auto [token, ofToken] : llvm::reverse(llvm::zip_equal(made, ofMade))) {
    auto wait = token.getDefiningOp<WaitOp>();
    if (ofToken.empty() && wait && wait.getAsyncDependencies().empty()) {
      wait.erase();
      continue;
    }
    OpBuilder builder(token.getContext());
    builder.setInsertionPointAfterValue(token);
    consume(token, ofToken, builder);
  }
}

/// The regions of `op`, then `op` itself. Returns what stands for it now.
Operation *Linearizer::runRegions(Operation *op, ConsumersOfTokens &consumers) {
  SmallVector<ConsumersOfTokens> captured;
  for (Region &region : op->getRegions())
    captured.push_back(run(region));
  if (isTokenLoop(op))
    op = carry(op, captured);
  for (OpOperand &operand : op->getOpOperands())
    if (isToken(operand.get()))
      consumers[operand.get()].push_back({op, operand.getOperandNumber()});
  if (runsOneRegionOnce(op))
    capture(op, captured, consumers);
  return op;
}

/// Carries the tokens that the regions of a loop take from outside: an operand,
/// an argument and terminator operand of each region, and a result more.
Operation *Linearizer::carry(Operation *loop,
                             ArrayRef<ConsumersOfTokens> captured) {
  llvm::SetVector<Value> tokens;
  for (const ConsumersOfTokens &consumers : captured)
    for (const auto &entry : consumers)
      tokens.insert(entry.first);
  if (tokens.empty())
    return loop;

  // What the regions pass on are the last operands of their terminators.
  Operation *created = appendTokens(loop, tokens.getArrayRef(), tokens.size());
  for (auto [region, consumers] :
       llvm::zip_equal(created->getRegions(), captured)) {
    Block &block = region.front();
    Operation *terminator = block.getTerminator();
    unsigned firstOperand = terminator->getNumOperands();
    unsigned firstArgument = block.getNumArguments();
    for (Value token : tokens)
      block.addArgument(token.getType(), token.getLoc());
    ValueRange arguments = block.getArguments().drop_front(firstArgument);
    terminator->insertOperands(firstOperand, arguments);
    for (unsigned index = tokens.size(); index-- > 0;) {
      Consumers all;
      if (auto it = consumers.find(tokens[index]); it != consumers.end())
        all = it->second;
      all.push_back({terminator, firstOperand + index});
      OpBuilder atBegin = OpBuilder::atBlockBegin(&block);
      consume(arguments[index], all, atBegin);
    }
  }
  return created;
}

/// Makes `op` one consumer of each token that its regions take from outside.
void Linearizer::capture(Operation *op,
                         MutableArrayRef<ConsumersOfTokens> captured,
                         ConsumersOfTokens &consumers) {
  llvm::MapVector<Value, Capture *> ofTokens;
  for (auto [index, ofRegion] : llvm::enumerate(captured))
    for (auto &[token, ofToken] : ofRegion) {
      Capture *&capture = ofTokens[token];
      if (!capture) {
        capture = &captures.emplace_back(Capture{op, {}});
        capture->regions.resize(op->getNumRegions());
        consumers[token].push_back({op, 0, capture});
      }
      capture->regions[index] = std::move(ofToken);
    }
  auto branch = dyn_cast<scf::IfOp>(op);
  if (ofTokens.empty() || !branch || !branch.getElseRegion().empty())
    return;
  OpBuilder builder(op->getContext());
  builder.createBlock(&branch.getElseRegion());
  scf::YieldOp::create(builder, op->getLoc());
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

struct MakeForksExplicit
    : public gpuasync::impl::GPUAsyncMakeForksExplicitBase<MakeForksExplicit> {
  void runOnOperation() override {
    bool failedAny = false;
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<gpu::GPUModuleOp>(op))
        return WalkResult::skip();
      auto check = [&](Value value) {
        failedAny |= isToken(value) && failed(checkMaker(value));
      };
      for (OpResult result : op->getResults())
        check(result);
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (BlockArgument argument : block.getArguments())
            check(argument);
      for (OpOperand &operand : op->getOpOperands())
        failedAny |= isToken(operand.get()) && failed(checkUse(operand));
      return WalkResult::advance();
    });
    if (failedAny)
      return signalPassFailure();

    uint64_t forks = countOps<ForkOp>(getOperation());
    uint64_t releases = countOps<ReleaseOp>(getOperation());
    Linearizer linearizer;
    for (Region &region : getOperation()->getRegions())
      linearizer.run(region);
    forks = countOps<ForkOp>(getOperation()) - forks;
    releases = countOps<ReleaseOp>(getOperation()) - releases;
    if (forks || releases)
      Decision(*this, getOperation(), "Forks")
          .count(numForks, "forks", forks)
          .count(numReleases, "releases", releases);
  }
};

} // namespace
