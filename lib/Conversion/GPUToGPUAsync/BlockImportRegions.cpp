//===- BlockImportRegions.cpp - ops with regions ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Branches and loops: which tokens go in, which are carried, and which come out
// for what is outstanding at the end of a region.
//===----------------------------------------------------------------------===//

#include "BlockImport.h"
#include "GPUAsync/IR/RegionTokens.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::upstream;

RegionUses BlockImport::findUses(Operation *op) {
  RegionUses uses;
  op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
    if (inner == op)
      return;
    bool isDevice = isUpstreamWork(inner) || isa<WorkOpInterface>(inner);
    bool isTokenCall = isa<func::CallOp>(inner) && hasTokens(inner);
    if (isDevice || isTokenCall) {
      uses.hasWork = true;
      Accesses accesses = isDevice
                              ? deviceAccesses(inner, state.kernels)
                              : state.accessesOf(cast<func::CallOp>(inner));
      for (const Access &access : accesses)
        uses.usesAny |= access.base.kind == Base::Unknown;
      SmallVector<Base, 4> bases;
      for (Value operand : inner->getOperands())
        if (leadsToMemory(operand.getType()))
          findBases(operand, bases);
      for (const Base &base : bases) {
        uses.used.insert(base.identity.getValue());
        uses.usesAny |= base.kind == Base::Unknown;
      }
      if (isDevice) {
        uses.device.append(accesses);
      } else {
        uses.device.push_back({Base(), /*writes=*/true});
        uses.host.append(accesses);
      }
    }
    auto asyncOp = dyn_cast<gpu::AsyncOpInterface>(inner);
    if ((asyncOp && !asyncOp.getAsyncToken() && !isa<gpu::AllocOp>(inner)) ||
        isa<gpu::HostUnregisterOp, HostUnregisterOp>(inner)) {
      // A wait for tokens concerns nobody else.
      if (isa<gpu::WaitOp>(inner) && inner->getNumOperands())
        return;
      uses.hasSync = true;
      uses.sync.append(deviceAccesses(inner, state.kernels));
      return;
    }
    if (isDevice || asyncOp || hasTokens(inner) || isUpstreamOp(inner) ||
        isAsyncOp(inner))
      return;
    // Ops of linalg have effects besides those of their regions.
    if (inner->hasTrait<OpTrait::HasRecursiveMemoryEffects>() &&
        !isa<MemoryEffectOpInterface>(inner))
      return;
    if (std::optional<Accesses> accesses = hostAccesses(inner))
      uses.host.append(*accesses);
    else
      uses.isOpaque = true;
  });
  // They are of any iteration of what is in there.
  for (Accesses *accesses : {&uses.sync, &uses.host, &uses.device})
    for (Access &access : *accesses)
      access.leave(op);
  return uses;
}

/// What ops of the regions must start after, and no token tells them, is waited
/// for before the op.
void BlockImport::waitBefore(Operation *op, const RegionUses &uses,
                             Fiber &fiber) {
  bool takesTokens = carriesTokens(op);
  SmallVector<unsigned> waited = collect({}, [&](const Node &node) {
    if (uses.isOpaque)
      return node.kind != Node::External;
    if (!isVisible(node, fiber))
      return false;
    if (node.kind == Node::Alloc)
      return !takesTokens &&
             ((uses.usesAny && (node.predecessors.empty() || !node.isUsed)) ||
              llvm::any_of(node.accesses, [&](const Access &access) {
                return uses.used.contains(access.base.identity.getValue());
              }));
    if (mayConflict(node.accesses, uses.sync))
      return true;
    return node.kind != Node::External && isTail(node, fiber) &&
           (uses.hasSync || mayConflict(node.accesses, uses.host));
  });
  if (uses.hasWork || uses.hasSync || !uses.host.empty())
    waited.append(fiber.cursor);
  if (!takesTokens) {
    SmallVector<Base, 4> bases;
    for (const Access &access : uses.device)
      bases.push_back(access.base);
    for (Value allocation : enclosingAllocations(bases, uses.usesAny))
      waited.push_back(nodeOf(allocation));
  }
  hostWait(waited, op);
}

/// Tokens from outside whose tails ops in the regions become: those that an op
/// takes whose own token nobody does.
static SetVector<Value> findRetied(Operation *op) {
  SetVector<Value> tokens;
  op->walk([&](gpu::AsyncOpInterface inner) {
    Value token = inner.getAsyncToken();
    if (!token || !token.use_empty())
      return;
    for (Value dependency : inner.getAsyncDependencies())
      if (!op->isAncestor(dependency.getParentBlock()->getParentOp()))
        tokens.insert(dependency);
  });
  return tokens;
}

void upstream::convertTokens(ValueRange values) {
  for (Value value : values)
    if (isUpstreamToken(value.getType()))
      value.setType(TokenType::get(value.getContext()));
}

/// One token for all that is outstanding at the end of this block.
Value BlockImport::joinOpen(OpBuilder &builder, Location loc) {
  if (open.size() == 1)
    return open.front();
  Value token = WaitOp::create(builder, loc, builder.getType<TokenType>(), open)
                    .getAsyncToken();
  unsigned number = addNode(Node::Join, token, loc, open, {}, *fibers.front(),
                            /*isUsed=*/true);
  nodes[number].isDone = open.empty();
  return token;
}

/// A region op whose regions do device work. Tokens go in and out: used ones as
/// the program says, tails and all that is outstanding besides as further
/// results. Through other ops no token goes: their blocks wait for their work.
void BlockImport::importRegionOp(Operation *op, Fiber &fiber) {
  RegionUses uses = findUses(op);
  waitBefore(op, uses, fiber);
  if (isTokenLoop(op))
    return importLoop(op, uses, fiber);
  if (carriesTokens(op))
    return importBranches(op, uses, fiber);
  for (Region &region : op->getRegions())
    for (Block &inner : region)
      if (failed(BlockImport(state, inner).run()))
        failedNested = true;
}

/// Whether `token` stands for nothing on the only path that has it.
static bool isUndefined(Value token) {
  Operation *op = token.getDefiningOp();
  return op && op->hasAttr(kUndefinedTokenAttrName);
}

/// Whether `token` is undefined wherever `flag` is 0: what a lifted loop passes
/// to its next iteration is so when it ends.
static bool isUndefinedUnless(Value flag, Value token) {
  if (isUndefined(token) || matchPattern(flag, m_NonZero()))
    return true;
  auto tokenResult = dyn_cast<OpResult>(token);
  auto flagResult = dyn_cast<OpResult>(flag);
  if (!tokenResult || !flagResult ||
      tokenResult.getOwner() != flagResult.getOwner() ||
      !runsOneRegionOnce(tokenResult.getOwner()))
    return false;
  return llvm::all_of(tokenResult.getOwner()->getRegions(),
                      [&](Region &region) {
                        Operation *end = region.front().getTerminator();
                        return isUndefinedUnless(
                            end->getOperand(flagResult.getResultNumber()),
                            end->getOperand(tokenResult.getResultNumber()));
                      });
}

static bool isUndefinedResult(OpResult result) {
  auto loop = dyn_cast<scf::WhileOp>(result.getOwner());
  if (!loop)
    return false;
  scf::ConditionOp end = loop.getConditionOp();
  auto flag = end.getCondition().getDefiningOp<arith::TruncIOp>();
  return flag && isUndefinedUnless(flag.getIn(),
                                   end.getArgs()[result.getResultNumber()]);
}

/// Tokens of enclosing blocks, and those that the block's loop carries, which
/// `token` comes after.
llvm::DenseSet<Value> BlockImport::pastOutside(Value token) {
  SmallVector<unsigned> worklist{nodeOf(token)};
  ++searches;
  llvm::DenseSet<Value> past;
  while (!worklist.empty()) {
    Node &current = nodes[worklist.pop_back_val()];
    if (current.mark == searches)
      continue;
    current.mark = searches;
    if (isFromOutside(current) || current.kind == Node::Carried)
      past.insert(current.token);
    worklist.append(current.predecessors.begin(), current.predecessors.end());
  }
  return past;
}

/// Whether `passed`, at the end of this block, comes after what the block was
/// given as `argument`.
bool BlockImport::comesAfterArgument(Value passed, Value argument) {
  return isUndefined(passed) || nodes[nodeOf(argument)].isDone ||
         pastOutside(passed).contains(argument);
}

/// Tokens of this block that a result of `op` comes after, whichever way the
/// regions go.
SetVector<Value>
BlockImport::pastOfResult(Operation *op, unsigned number,
                          ArrayRef<std::unique_ptr<BlockImport>> imports) {
  SetVector<Value> past;
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    if (imports.front()->comesAfterArgument(loop.getYieldedValues()[number],
                                            loop.getRegionIterArg(number)))
      past.insert(loop.getInitArgs()[number]);
    return past;
  }
  if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    // Through the condition, and round by way of each token passed on.
    BlockImport &before = *imports.front();
    BlockImport &after = *imports.back();
    OperandRange passed = loop.getConditionOp().getArgs();
    for (auto [argument, init, yielded] :
         llvm::zip_equal(loop.getBeforeArguments(), loop.getInits(),
                         loop.getYieldOp().getResults())) {
      if (!isToken(argument) ||
          !before.comesAfterArgument(passed[number], argument))
        continue;
      bool comesRound = false;
      for (auto [next, value] :
           llvm::zip_equal(loop.getAfterArguments(), passed))
        comesRound |= isToken(next) &&
                      after.comesAfterArgument(yielded, next) &&
                      before.comesAfterArgument(value, argument);
      if (comesRound)
        past.insert(init);
    }
    return past;
  }
  bool isFirst = true;
  for (const std::unique_ptr<BlockImport> &inner : imports) {
    Value yielded = inner->block.getTerminator()->getOperand(number);
    if (isUndefined(yielded))
      continue;
    llvm::DenseSet<Value> ofRegion = inner->pastOutside(yielded);
    if (isFirst)
      // In the order of nodes, so that it does not depend on that of the set.
      for (const Node &node : inner->nodes) {
        if (ofRegion.contains(node.token))
          past.insert(node.token);
      }
    else
      past.remove_if([&](Value token) { return !ofRegion.contains(token); });
    isFirst = false;
  }
  return past;
}

/// Nodes for the tokens that a region op returns. One is in the past of another
/// if it is so wherever the op's results come from.
void BlockImport::addResults(Operation *op,
                             ArrayRef<std::unique_ptr<BlockImport>> imports,
                             const RegionUses &uses, Fiber &fiber) {
  // The results of scf.while are what its condition passes on.
  ArrayRef<std::unique_ptr<BlockImport>> sources = imports;
  if (isa<scf::WhileOp>(op))
    sources = sources.take_front();
  auto loop = dyn_cast<scf::ForOp>(op);
  auto comesBefore = [&](OpResult first, OpResult second) {
    if (loop && !isCovered(nodeOf(loop.getInitArgs()[first.getResultNumber()]),
                           loop.getInitArgs()[second.getResultNumber()]))
      return false;
    return llvm::all_of(sources, [&](const auto &inner) {
      Operation *end = inner->block.getTerminator();
      // scf.condition has its condition first.
      unsigned skipped = end->getNumOperands() - op->getNumResults();
      Value before = end->getOperand(skipped + first.getResultNumber());
      Value after = end->getOperand(skipped + second.getResultNumber());
      return isUndefined(before) || isUndefined(after) ||
             inner->isCovered(inner->nodeOf(before), after);
    });
  };
  struct Result {
    OpResult token;
    SmallVector<Value, 2> past;
  };
  SmallVector<Result> results;
  for (OpResult result : op->getResults())
    if (isToken(result) && !isUndefinedResult(result))
      results.push_back({result, {}});
  for (Result &result : results)
    for (Result &other : results)
      if (other.token != result.token &&
          comesBefore(other.token, result.token) &&
          (other.token.getResultNumber() < result.token.getResultNumber() ||
           !comesBefore(result.token, other.token)))
        result.past.push_back(other.token);
  // What comes before others comes first: nodes have topological numbers.
  llvm::sort(results, [](const Result &a, const Result &b) {
    return std::make_pair(a.past.size(), a.token.getResultNumber()) <
           std::make_pair(b.past.size(), b.token.getResultNumber());
  });
  for (Result &result : results) {
    llvm::append_range(
        result.past, pastOfResult(op, result.token.getResultNumber(), imports));
    addNode(Node::Work, result.token, op->getLoc(), result.past, uses.device,
            fiber, !result.token.use_empty());
  }
}

void BlockImport::importBranches(Operation *op, const RegionUses &uses,
                                 Fiber &fiber) {
  SetVector<Value> retied = findRetied(op);
  convertTokens(op->getResults());
  SmallVector<std::unique_ptr<BlockImport>> imports;
  bool isOpen = false;
  for (Region &region : op->getRegions()) {
    if (region.empty())
      continue;
    imports.push_back(std::make_unique<BlockImport>(state, region.front(),
                                                    AtEnd::CarryOut, this));
    imports.back()->retied.assign(retied.begin(), retied.end());
    failedNested |= failed(imports.back()->run());
    isOpen |= !imports.back()->open.empty();
  }

  unsigned first = op->getNumResults();
  if (!retied.empty() || isOpen) {
    if (auto branch = dyn_cast<scf::IfOp>(op);
        branch && branch.getElseRegion().empty()) {
      OpBuilder builder(op->getContext());
      Block *block = builder.createBlock(&branch.getElseRegion());
      scf::YieldOp::create(builder, op->getLoc());
      imports.push_back(
          std::make_unique<BlockImport>(state, *block, AtEnd::CarryOut, this));
    }
    for (const std::unique_ptr<BlockImport> &inner : imports) {
      Operation *terminator = inner->block.getTerminator();
      OpBuilder builder(terminator);
      SmallVector<Value> carried = inner->tailsOf(retied.getArrayRef());
      if (isOpen)
        carried.push_back(inner->joinOpen(builder, op->getLoc()));
      terminator->insertOperands(terminator->getNumOperands(), carried);
    }
    op = appendTokens(op, {}, retied.size() + isOpen);
  }

  for (auto [index, token] : llvm::enumerate(retied))
    tails[token] = op->getResult(first + index);
  addResults(op, imports, uses, fiber);
}

/// Whether `token` is made from `argument` by ops that start after it.
static bool comesAfter(Value token, BlockArgument argument) {
  SmallVector<Value> worklist{token};
  llvm::DenseSet<Value> seen;
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (value == argument)
      return true;
    Operation *op = value.getDefiningOp();
    if (!op || !seen.insert(value).second)
      continue;
    if (auto asyncOp = dyn_cast<gpu::AsyncOpInterface>(op))
      llvm::append_range(worklist, asyncOp.getAsyncDependencies());
    else if (auto work = dyn_cast<WorkOpInterface>(op))
      llvm::append_range(worklist, work.getAsyncDependencies());
    else if (isa<WaitOp, func::CallOp>(op))
      llvm::append_range(worklist, op->getOperands());
  }
  return false;
}

/// A token that a loop carries stands for work of earlier iterations.
void BlockImport::addCarried(BlockArgument argument, const RegionUses &uses,
                             bool isUsed) {
  addNode(Node::Carried, argument, argument.getLoc(), {}, uses.device,
          *fibers.front(), isUsed);
}

/// Takes a token out of lists of dependencies. A host wait for nothing else
/// goes.
static void dropDependency(Value token) {
  while (!token.use_empty()) {
    Operation *user = *token.user_begin();
    auto wait = dyn_cast<WaitOp>(user);
    MutableOperandRange dependencies =
        wait ? wait.getAsyncDependenciesMutable()
             : cast<WorkOpInterface>(user).getAsyncDependenciesMutable();
    SmallVector<Value> kept = llvm::to_vector(llvm::make_filter_range(
        OperandRange(dependencies),
        [&](Value dependency) { return dependency != token; }));
    dependencies.assign(kept);
    if (wait && wait.isHostWait() && kept.empty())
      wait.erase();
  }
}

/// Besides what the program carries, the loop carries the tails that its body
/// changes, and a join of what its iterations leave outstanding.
void BlockImport::importLoop(Operation *op, const RegionUses &uses,
                             Fiber &fiber) {
  SetVector<Value> retied = findRetied(op);
  SmallVector<Value> carried = tailsOf(retied.getArrayRef());
  for (OpOperand &operand : op->getOpOperands())
    if (isUpstreamToken(operand.get().getType()) || isToken(operand.get()))
      operand.set(tailOf(operand.get()));
  convertTokens(op->getResults());

  SmallVector<std::unique_ptr<BlockImport>> imports;
  SmallVector<BlockArgument> leftOvers;
  bool isOpen = false;
  for (Region &region : op->getRegions()) {
    Block &block = region.front();
    BlockImport &inner = *imports.emplace_back(
        std::make_unique<BlockImport>(state, block, AtEnd::CarryOut, this));
    convertTokens(block.getArguments());
    for (BlockArgument argument : block.getArguments())
      if (isToken(argument))
        inner.addCarried(argument, uses, /*isUsed=*/true);
    if (auto loop = dyn_cast<scf::ForOp>(op))
      for (auto [index, argument] : llvm::enumerate(loop.getRegionIterArgs()))
        if (isToken(argument) &&
            comesAfter(loop.getYieldedValues()[index], argument))
          inner.startOf[argument] = loop.getInitArgs()[index];
    Type type = TokenType::get(op->getContext());
    inner.retied.assign(retied.begin(), retied.end());
    for (auto [token, start] : llvm::zip_equal(retied, carried)) {
      BlockArgument argument = block.addArgument(type, op->getLoc());
      inner.addCarried(argument, uses, /*isUsed=*/false);
      inner.tails[token] = argument;
      inner.startOf[argument] = start;
    }
    leftOvers.push_back(block.addArgument(type, op->getLoc()));
    inner.addCarried(leftOvers.back(), uses, /*isUsed=*/false);
    failedNested |= failed(inner.run());
    isOpen |= llvm::any_of(
        inner.open, [&](Value token) { return token != leftOvers.back(); });
  }

  unsigned first = op->getNumResults();
  for (auto [inner, leftOver] : llvm::zip_equal(imports, leftOvers)) {
    Operation *terminator = inner->block.getTerminator();
    OpBuilder builder(terminator);
    SmallVector<Value> passed = inner->tailsOf(retied.getArrayRef());
    if (isOpen) {
      passed.push_back(inner->joinOpen(builder, op->getLoc()));
    } else {
      dropDependency(leftOver);
      inner->block.eraseArgument(leftOver.getArgNumber());
    }
    terminator->insertOperands(terminator->getNumOperands(), passed);
  }
  if (isOpen) {
    OpBuilder builder(op);
    carried.push_back(WaitOp::create(builder, op->getLoc(),
                                     builder.getType<TokenType>(), ValueRange())
                          .getAsyncToken());
    nodes[nodeOf(carried.back())].isDone = true;
  }
  if (!carried.empty())
    op = appendTokens(op, carried, carried.size());

  for (auto [index, token] : llvm::enumerate(retied))
    tails[token] = op->getResult(first + index);
  addResults(op, imports, uses, fiber);
}
